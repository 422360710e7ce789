// Copies the code, and reloads the page once the shop knows that the order is paid or the code has ended.
;(() => {
  const section = document.querySelector('.guiche-pix')
  if (!section) return
  const input = section.querySelector('input')
  const button = section.querySelector('button')
  button.addEventListener('click', () => {
    input.select()
    // Pages without https have no clipboard API.
    if (navigator.clipboard) navigator.clipboard.writeText(input.value).catch(() => document.execCommand('copy'))
    else document.execCommand('copy')
    button.textContent = button.dataset.copied
  })

  const checkEveryMs = 4000
  const wait = () => setTimeout(check, checkEveryMs)
  const check = () => {
    fetch(section.dataset.statusUrl, { headers: { accept: 'application/json' } })
      .then((answer) => answer.json())
      .then(
        ({ status }) => (status === 'waiting' ? wait() : window.location.reload()),
        // The next check may succeed.
        () => wait(),
      )
  }
  wait()
})()
