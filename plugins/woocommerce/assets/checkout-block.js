// Pix in the checkout block. Plain JavaScript: WordPress loads what it needs before it, and nothing is built.
;(() => {
  const { registerPaymentMethod } = window.wc.wcBlocksRegistry
  const { createElement } = window.wp.element
  const { decodeEntities } = window.wp.htmlEntities
  const settings = window.wc.wcSettings.getPaymentMethodData('guiche_pix', {})
  const title = decodeEntities(settings.title || 'Pix')

  const Label = () =>
    createElement(
      'span',
      { style: { display: 'flex', alignItems: 'center', gap: '0.5em' } },
      createElement('img', { src: settings.icon, alt: '', width: 24, height: 24 }),
      title,
    )
  const Content = () => createElement('p', null, decodeEntities(settings.description || ''))

  registerPaymentMethod({
    name: 'guiche_pix',
    label: createElement(Label),
    ariaLabel: title,
    content: createElement(Content),
    edit: createElement(Content),
    canMakePayment: () => true,
    supports: { features: settings.supports || ['products'] },
  })
})()
