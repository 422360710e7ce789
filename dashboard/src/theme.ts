import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

/** The brand's green. Shade 6 on white and shade 4 on dark have enough contrast for text. */
const brand: MantineColorsTuple = [
  '#e6f7f4',
  '#cdeee8',
  '#9adcd0',
  '#63c9b7',
  '#36b8a2',
  '#179d88',
  '#0b7a6f',
  '#086a60',
  '#055950',
  '#02443d',
]

export const theme = createTheme({
  primaryColor: 'brand',
  primaryShade: 6,
  colors: { brand },
  autoContrast: true,
  respectReducedMotion: true,
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily: 'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  headings: { fontWeight: '650', sizes: { h1: { fontSize: '1.5rem' }, h2: { fontSize: '1.15rem' } } },
})

const redFilled = { '--mantine-color-red-filled': '#c92a2a', '--mantine-color-red-filled-hover': '#b02323' }

/** Colors that replace Mantine's. Dimmed text still has a contrast of 4.5 to its background. */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#55625e',
    '--mantine-color-placeholder': '#6b7773',
    '--mantine-color-teal-light-color': '#05604a',
    '--mantine-color-yellow-light-color': '#7d4600',
    '--mantine-color-orange-light-color': '#983404',
    '--mantine-color-red-light-color': '#a81e1e',
    '--mantine-color-error': '#c92a2a',
    ...redFilled,
  },
  dark: {
    '--mantine-color-dimmed': '#a5b3af',
    '--mantine-color-placeholder': '#8d9a96',
    '--mantine-color-error': '#ff9b9b',
    // Mantine's own is nearly white.
    '--mantine-color-red-light-color': '#ff9b9b',
    // Gray is lighter than the card behind it. Orange is amber: Mantine's own is a red, which looks like an error.
    '--mantine-color-gray-light': '#35413d',
    '--mantine-color-gray-light-color': '#dfe7e4',
    '--mantine-color-yellow-light': '#3a360f',
    '--mantine-color-yellow-light-color': '#f2dc6b',
    '--mantine-color-orange-light': '#47350f',
    '--mantine-color-orange-light-color': '#ffc56b',
    ...redFilled,
    // Fields, lists and code have the same green tint as their background.
    '--mantine-color-dark-4': '#35413d',
    '--mantine-color-dark-5': '#2b3633',
    '--mantine-color-dark-6': '#1e2624',
    '--mantine-color-dark-7': '#1a211f',
    '--mantine-color-dark-8': '#131917',
    '--mantine-color-body': '#161c1a',
    '--mantine-color-default': '#1e2624',
    '--mantine-color-default-hover': '#27312e',
    '--mantine-color-default-border': '#35413d',
  },
})

/** Paper is white: while the page is printed it is shown in the light theme. */
export function printInLight(): void {
  const { dataset } = document.documentElement
  let before: string | undefined
  matchMedia('print').addEventListener('change', ({ matches }) => {
    if (matches) before = dataset.mantineColorScheme
    const next = matches ? 'light' : before
    if (next !== undefined) dataset.mantineColorScheme = next
  })
}
