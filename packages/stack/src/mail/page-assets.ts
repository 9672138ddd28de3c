/** Style of the pages: the reader's own colours and font, and a focus ring that can be seen. */
export const pageStyle = `:root { color-scheme: light dark; font: 100%/1.5 system-ui, sans-serif }
body { margin: 0 }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere }
table { width: 100%; border-collapse: collapse }
th, td { text-align: start; vertical-align: top; padding: .4rem; border-bottom: 1px solid GrayText }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem }
dd { margin: 0 }
pre { white-space: pre-wrap; padding: 1rem; border: 1px solid GrayText }
iframe { width: 100%; height: 28rem; border: 1px solid GrayText; background: white; color-scheme: light }
:focus-visible { outline: 3px solid Highlight; outline-offset: 2px }
`

/**
 * Fetches the list again every two seconds while the page is seen, and replaces it only when it has changed. The link
 * that had the focus keeps it.
 */
export const pageScript = `const place = document.getElementById('mails')
setInterval(async () => {
  if (document.hidden) return
  const answer = await fetch('/').catch(() => undefined)
  if (!answer?.ok) return
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('mails')
  if (!fresh || fresh.innerHTML === place.innerHTML) return
  const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null
  place.replaceChildren(...fresh.childNodes)
  if (focused) place.querySelector('a[href="' + focused + '"]')?.focus()
}, 2000)
`
