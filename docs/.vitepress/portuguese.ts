import type { DefaultTheme } from 'vitepress'

/** The texts of the theme, for the pages in docs/pt/. */
export const portuguese = {
  nav: [{ text: 'Referência da API', link: '/pt/reference/' }],
  outline: { level: [2, 3], label: 'Nesta página' },
  docFooter: { prev: 'Anterior', next: 'Próxima' },
  sidebarMenuLabel: 'Menu',
  returnToTopLabel: 'Voltar ao topo',
  langMenuLabel: 'Mudar o idioma',
  skipToContentLabel: 'Ir para o conteúdo',
  darkModeSwitchLabel: 'Tema',
  darkModeSwitchTitle: 'Usar o tema escuro',
  lightModeSwitchTitle: 'Usar o tema claro',
  notFound: {
    title: 'Página não encontrada',
    quote: 'Confira o endereço ou volte ao início do guia.',
    linkText: 'Ir para o início',
    linkLabel: 'Ir para o início do guia',
  },
} satisfies DefaultTheme.Config

export const portugueseSearch = {
  button: { buttonText: 'Buscar', buttonAriaLabel: 'Buscar no guia' },
  modal: {
    displayDetails: 'Mostrar detalhes',
    resetButtonTitle: 'Limpar a busca',
    backButtonTitle: 'Fechar a busca',
    noResultsText: 'Nenhum resultado para',
    footer: {
      selectText: 'abrir',
      selectKeyAriaLabel: 'Enter',
      navigateText: 'navegar',
      navigateUpKeyAriaLabel: 'Seta para cima',
      navigateDownKeyAriaLabel: 'Seta para baixo',
      closeText: 'fechar',
      closeKeyAriaLabel: 'Esc',
    },
  },
} satisfies DefaultTheme.LocalSearchOptions['translations']
