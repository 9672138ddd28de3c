import { breakable, escapeHtml } from '@trestle/common/documents/html.ts'
import { iconOf, renderTitle } from '@trestle/common/documents/page-style.ts'
import { renderCommand } from '../command-block.ts'
import type { CaughtMail } from './mail-store.ts'

/** A list of mails for the page. */
interface ShownList {
  readonly mails: readonly CaughtMail[]
  /** The searched text. If empty, the page shows all mails. */
  readonly query: string
  readonly total: number
  readonly isUnread: (mail: CaughtMail) => boolean
  readonly homeUrl: string
}

/** Renders the list of mails, newest first. It works without its script, which adds new mails. */
export function renderList({ mails, query, total, isUnread, homeUrl }: ShownList): string {
  const unread = mails.filter(isUnread).length
  const rows = mails.map((mail) => renderRow(mail, { query, unread: isUnread(mail) }))
  const removeAll = total > 1 ? `Remove all ${total} mails` : 'Remove all mails'
  const none = query === '' ? NO_MAIL : `<p class="none">No mail contains “${escapeHtml(query)}”.</p>`
  return renderPage(
    unread > 0 ? `(${unread}) Mail` : 'Mail',
    `<nav><a href="${escapeHtml(homeUrl)}">← Start page</a></nav><header>${renderTitle('Mail')}
<p>What the services send arrives here and goes no further. For programs: <a href="/messages">/messages</a>.</p></header>
<div class="bar"${total > 0 ? '' : ' hidden'}><form action="/" role="search"><label class="unseen" for="query">Search mail</label>
<input id="query" type="search" name="q" value="${escapeHtml(query)}" placeholder="Search mail" autocomplete="off">
<button class="quiet">Search</button></form>
<button class="quiet" popovertarget="confirm">${removeAll}</button></div>
<div id="mails"><p class="count" role="status">${countOf({ mails: mails.length, total, unread })}${
      query === '' ? '' : ' · <a href="/">Show all mails</a>'
    }</p>
${rows.length > 0 ? `<ul class="mails">${rows.join('')}</ul>` : none}</div>
<div id="confirm" popover role="dialog" aria-labelledby="question"><h2 id="question">${removeAll}?</h2>
<p>${query === '' ? '' : 'Also those that this search hides. '}They cannot be brought back.</p><form method="post" action="/clear" class="actions">
<button type="button" class="quiet" popovertarget="confirm" popovertargetaction="hide" autofocus>Keep them</button>
<button class="bad">Remove all</button></form></div>`,
  )
}

const ENVELOPE = 'M0 2h16L8 8zm0 2 8 6 8-6v10H0z'

const NO_MAIL = `<div class="none"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="${ENVELOPE}"/></svg><h2>No mail yet</h2>
<p>Sign somebody up, or run:</p>${renderCommand('sign-up', 'npx node examples/sign-up.ts')}</div>`

function countOf({ mails, total, unread }: Readonly<Record<'mails' | 'total' | 'unread', number>>): string {
  if (total === 0) return ''
  const shown = mails === total ? `${total}` : `${mails} of ${total}`
  return `${shown} ${total === 1 ? 'mail' : 'mails'}${unread > 0 ? `, ${unread} unread` : ''}`
}

function renderRow(mail: CaughtMail, { query, unread }: { readonly query: string; readonly unread: boolean }): string {
  const subject = escapeHtml(subjectOf(mail))
  return `<li${unread ? ' class="unread"' : ''}><a id="mail-${mail.id}" href="/mails/${mail.id}">${subject}</a>${
    unread ? '<span class="unseen">unread</span>' : ''
  }
<span class="to">${breakable(mail.to.join(', '))}</span>${renderTime(mail.received)}
${renderRemoval(mail, { query, label: `Remove ${subject}`, content: CROSS })}</li>`
}

const CROSS = '<svg viewBox="0 0 16 16" aria-hidden="true"><path d="m4 4 8 8m0-8-8 8"/></svg>'

interface Removal {
  readonly query: string
  readonly label: string
  readonly content: string
}

function renderRemoval({ id }: CaughtMail, { query, label, content }: Removal): string {
  const back = query === '' ? '' : `?q=${encodeURIComponent(query)}`
  return `<form method="post" action="/mails/${id}/remove${back}"><button class="quiet remove" aria-label="${label}"
 id="remove-${id}">${content}</button></form>`
}

/** Renders the page of one mail: its main link and code, its HTML in a frame without scripts, and its text. */
export function renderMail(mail: CaughtMail): string {
  const [main, ...others] = linksOf(mail)
  const facts = [
    ['From', mail.from],
    ['To', mail.to.join(', ')],
    ...(mail.cc.length > 0 ? [['Cc', mail.cc.join(', ')]] : []),
    ...mail.attachments.map(({ name, type, bytes }) => ['Attachment', `${name} (${type}, ${bytes} bytes)`]),
  ].map(([name = '', value = '']) => `<dt>${name}</dt><dd>${breakable(value)}</dd>`)
  const frame = `<h2>HTML</h2><p class="shown">As a mail program shows it.
<a href="/messages/${mail.id}/html" target="_blank" rel="noreferrer">Open in a new tab</a></p>
<iframe title="The mail's HTML" src="/messages/${mail.id}/html" sandbox="${frameRights}"></iframe>`
  return renderPage(
    subjectOf(mail),
    `<nav><a href="/">← All mails</a>${renderRemoval(mail, { query: '', label: 'Remove this mail', content: 'Remove' })}</nav>
<h1>${escapeHtml(subjectOf(mail))}</h1>
<dl>${facts.join('')}<dt>Received</dt><dd>${renderTime(mail.received)}</dd></dl>
${renderHighlights(main, codeOf(mail))}
${mail.html === null ? '' : frame}
${mail.text === null ? '' : `<h2>Text</h2><pre tabindex="0">${breakable(mail.text.trim())}</pre>`}
${others.length > 0 ? `<h2>Other links</h2><ul class="links">${others.map(renderLink).join('')}</ul>` : ''}
<p><a href="/messages/${mail.id}">As JSON</a>, <a href="/messages/${mail.id}/source">as sent</a></p>`,
  )
}

function renderHighlights(link: MailLink | undefined, code: string | undefined): string {
  const action =
    link &&
    `<p class="actions"><a class="button" href="${escapeHtml(link.url)}" rel="noreferrer">${escapeHtml(link.label ?? 'Open the link')}</a>
<button class="quiet" data-copy="link" hidden>Copy link</button></p>
<p class="address" id="link">${breakable(link.url)}</p>`
  const number =
    code &&
    `<p class="code"><span>Code</span> <strong id="code">${code}</strong>
<button class="quiet" data-copy="code" hidden>Copy code</button></p>`
  return action || number
    ? `<section class="highlights" aria-label="What the mail is about">${action ?? ''}${number ?? ''}</section>`
    : ''
}

function renderLink({ url, label }: MailLink): string {
  const about = label === undefined ? '' : ` (${escapeHtml(label)})`
  return `<li><a href="${escapeHtml(url)}" rel="noreferrer">${breakable(url)}</a>${about}</li>`
}

/**
 * The sandbox rights of the frame. Links of a mail open in a new tab, and the surrounding page can read the height of the mail.
 * Everything else is forbidden, including scripts and forms.
 */
export const frameRights = 'allow-same-origin allow-popups allow-popups-to-escape-sandbox'

/**
 * Returns the HTML of a mail for the frame. Links open in a new tab. The font is the usual one of mail programs if a mail names
 * none. Long words break, because the frame is narrow on a phone. Browsers ignore the mail's own doctype after this doctype.
 */
export function renderFrame(html: string): string {
  return `<!doctype html><base target="_blank"><style>body { margin: 1rem; font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }</style>${html}`
}

/** Renders a page with only a message and a link to all mails. */
export function renderNotice(title: string, text: string): string {
  const action = '<p class="actions"><a class="button" href="/">All mails</a></p>'
  return renderPage(title, `${renderTitle(title)}<p>${text}</p>${action}`, 'single')
}

function renderPage(title: string, body: string, bodyClass = ''): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${escapeHtml(title)} – Trestle mail</title>
<link rel="icon" href="${ICON}"><link rel="stylesheet" href="/page.css"><script src="/page.js" defer></script></head>
<body class="${bodyClass}"><main>${body}</main></body></html>
`
}

const ICON = iconOf(ENVELOPE)

function subjectOf({ subject }: CaughtMail): string {
  return subject || '(no subject)'
}

function renderTime(time: string): string {
  return `<time datetime="${time}">${time.slice(0, 19).replace('T', ' ')} UTC</time>`
}

/** The parts of a mail that contain its text. */
interface MailBodies {
  readonly text: string | null
  readonly html: string | null
}

interface MailLink {
  readonly url: string
  /** The text of the link in the HTML. `undefined` if the HTML has no such link, or no text for it. */
  readonly label?: string
}

/**
 * Returns the web addresses of a mail, each once. Addresses with a token come first, because they are the purpose of the mail.
 * Links of the HTML follow, and then addresses that are only written in the text.
 */
export function linksOf({ text, html }: MailBodies): readonly MailLink[] {
  const clickable = [...(html ?? '').matchAll(/<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)')[^>]*>(.*?)<\/a>/gis)].map(
    ([, double, single, content = '']) => linkOf(decodeEntities(double ?? single ?? '').trim(), plainTextOf(content)),
  )
  const written = [...(text ?? '').matchAll(/https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?]/g)].map(([url]) => ({ url }))
  const links = [...clickable, ...written].filter(({ url }) => /^https?:\/\//.test(url))
  const once = links.filter(({ url }, index) => links.findIndex((other) => other.url === url) === index)
  return [...once.filter(carriesToken), ...once.filter((link) => !carriesToken(link))]
}

/** The code in a mail: 4 to 10 digits, in bold or after the word "code". `undefined` if there is none. */
export function codeOf({ text, html }: MailBodies): string | undefined {
  const bold = /<(strong|b|code)\b[^>]*>\s*(\d{4,10})\s*<\/\1>/i.exec(html ?? '')?.[2]
  return bold ?? /\bcode\b[^\n\d]{0,30}\b(\d{4,10})\b/i.exec(text ?? '')?.[1]
}

function linkOf(url: string, label: string): MailLink {
  return label === '' || label === url ? { url } : { url, label }
}

/** Whether a URL contains a secret: a parameter with such a name, or a path segment of 20 characters or more. */
function carriesToken({ url }: MailLink): boolean {
  const { searchParams, pathname } = URL.parse(url) ?? {}
  const isNamed = [...(searchParams?.keys() ?? [])].some((name) => /token|code|secret|signature/i.test(name))
  return isNamed || /\/[\w-]{20,}(?:\/|$)/.test(pathname ?? '')
}

function plainTextOf(html: string): string {
  return decodeEntities(html.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()
}

/** Decodes the entities that occur in addresses and labels. */
function decodeEntities(text: string): string {
  return text.replace(/&(amp|quot|#39|#x27|lt|gt|nbsp);/gi, (entity, name: string) => {
    return entities[name.toLowerCase()] ?? entity
  })
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  '#39': "'",
  '#x27': "'",
  lt: '<',
  gt: '>',
  nbsp: ' ',
}
