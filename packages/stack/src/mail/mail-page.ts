import { linksOf } from './mail-links.ts'
import type { CaughtMail } from './mail-store.ts'

/** The page that lists the mails, newest first. It works without a script; with one it shows new mails by itself. */
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

/** The page of one mail: its HTML in a frame that may run nothing and load nothing, its text, and its links. */
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

/** Links of a mail open beside the page; everything else is forbidden, scripts and forms above all. */
export const frameRights = 'allow-popups allow-popups-to-escape-sandbox'

/** The HTML of a mail with links that open beside the page. A doctype further down is ignored by browsers. */
export function renderFrame(html: string): string {
  return `<!doctype html><base target="_blank">${html}`
}

/** A page that says one thing. */
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
