import type { CaughtMail } from './mail-store.ts'

/** The page that lists the mails, newest first. It works without its script, which shows new mails as they arrive. */
export function renderList(mails: readonly CaughtMail[]): string {
  const rows = mails.map(
    (mail) => `<tr><td><a href="/mails/${mail.id}">${escapeHtml(mail.subject || '(no subject)')}</a></td>
<td>${escapeHtml(mail.to.join(', '))}</td><td>${renderTime(mail.received)}</td></tr>`,
  )
  const table = `<table><thead><tr><th scope="col">Subject</th><th scope="col">To</th><th scope="col">Received</th></tr>
</thead><tbody>${rows.join('')}</tbody></table>`
  return renderPage(
    'Mails',
    `<h1>Mails</h1>
<p>What the services send arrives here and goes no further. For programs: <a href="/messages">/messages</a>.</p>
<div id="mails">${mails.length > 0 ? table : '<p>No mail has come yet.</p>'}</div>
<form method="post" action="/clear"><button>Remove all</button></form>
<script src="/page.js" defer></script>`,
  )
}

/** The page of one mail: its HTML in a frame without scripts and remote content, its text, and its links. */
export function renderMail(mail: CaughtMail): string {
  const links = linksOf(mail).map(
    (url) => `<li><a href="${escapeHtml(url)}" rel="noreferrer">${escapeHtml(url)}</a></li>`,
  )
  const facts = [
    ['From', mail.from],
    ['To', mail.to.join(', ')],
    ...(mail.cc.length > 0 ? [['Cc', mail.cc.join(', ')]] : []),
    ...mail.attachments.map(({ name, type, bytes }) => ['Attachment', `${name} (${type}, ${bytes} bytes)`]),
  ].map(([name = '', value = '']) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`)
  const frame = `<h2>HTML</h2><iframe title="The mail's HTML" src="/messages/${mail.id}/html" sandbox="${frameRights}"></iframe>`
  return renderPage(
    mail.subject || '(no subject)',
    `<p><a href="/">All mails</a></p>
<h1>${escapeHtml(mail.subject || '(no subject)')}</h1>
<dl>${facts.join('')}<dt>Received</dt><dd>${renderTime(mail.received)}</dd></dl>
${links.length > 0 ? `<h2>Links</h2><ul>${links.join('')}</ul>` : ''}
${mail.html === null ? '' : frame}
${mail.text === null ? '' : `<h2>Text</h2><pre tabindex="0">${escapeHtml(mail.text)}</pre>`}
<p><a href="/messages/${mail.id}">As JSON</a>, <a href="/messages/${mail.id}/source">as sent</a></p>`,
  )
}

/** Links of a mail open in a new tab. Everything else is forbidden, scripts and forms included. */
export const frameRights = 'allow-popups allow-popups-to-escape-sandbox'

/** The HTML of a mail with links that open in a new tab. Browsers ignore the mail's own doctype after this one. */
export function renderFrame(html: string): string {
  return `<!doctype html><base target="_blank">${html}`
}

/** The HTML of a page with one message and a link to all mails. */
export function renderNotice(title: string): string {
  return renderPage(title, `<h1>${escapeHtml(title)}</h1><p><a href="/">All mails</a></p>`)
}

function renderPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)} – Trestle mail</title><link rel="stylesheet" href="/page.css"></head>
<body><main>${body}</main></body></html>
`
}

function renderTime(time: string): string {
  return `<time datetime="${time}">${time.slice(0, 19).replace('T', ' ')} UTC</time>`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/**
 * The web addresses of a mail, each once, in the order of their first appearance: those in its text, then the links of its
 * HTML.
 */
export function linksOf({ text, html }: { readonly text: string | null; readonly html: string | null }): string[] {
  const inText = [...(text ?? '').matchAll(/https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?]/g)].map(([url]) => url)
  const inHtml = [...(html ?? '').matchAll(/\shref\s*=\s*(?:"([^"]*)"|'([^']*)')/gi)].map(([, a, b]) =>
    decodeEntities(a ?? b ?? ''),
  )
  return [...new Set([...inText, ...inHtml])].filter((url) => /^https?:\/\//.test(url))
}

/** Decodes the entities that addresses in HTML contain. */
function decodeEntities(text: string): string {
  return text.replace(/&(amp|quot|#39|#x27|lt|gt);/gi, (entity, name: string) => entities[name.toLowerCase()] ?? entity)
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  '#39': "'",
  '#x27': "'",
  lt: '<',
  gt: '>',
}

/** Style of the pages: the system's colours and font, and a visible focus ring. */
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
 * Fetches the list every two seconds while the page is visible, and replaces it only when it has changed. The focused link keeps
 * its focus.
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
