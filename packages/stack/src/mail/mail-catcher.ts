import type { IncomingMessage, ServerResponse } from 'node:http'
import { PAGE_STYLE } from '@trestle/common/documents/page-style.ts'
import { COPY_SCRIPT } from '../command-block.ts'
import { isForThisMachine, startLocalServer } from '../local-server.ts'
import { frameRights, renderFrame, renderList, renderMail, renderNotice } from './mail-page.ts'
import { type CaughtMail, type MailStore, openMailStore, summaryOf } from './mail-store.ts'
import { startSmtpListener } from './smtp-listener.ts'

export interface MailCatcher {
  readonly smtpPort: number
  readonly webPort: number
  close(): Promise<void>
}

/**
 * Starts the SMTP listener and the web page. Port 0 chooses a free port.
 *
 * @param folder the folder in which mails are kept for the next start
 * @param homeUrl the address of the page of the stack, to which the list of mails links
 * @throws StackFailure if a kept mail cannot be read
 */
export async function startMailCatcher(
  ports: { readonly smtp: number; readonly web: number },
  folder: string,
  homeUrl: string,
): Promise<MailCatcher> {
  const store = await openMailStore(folder, () => new Date())
  const pages = { store, homeUrl }
  const smtp = await startSmtpListener(store, ports.smtp)
  const web = await startLocalServer(ports.web, (request, response) => sendAnswer(response, answerTo(pages, request)))
  return {
    smtpPort: smtp.port,
    webPort: web.port,
    close: async () => {
      await Promise.all([smtp.close(), web.close()])
    },
  }
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

const HTML = 'text/html; charset=utf-8'
const TEXT = 'text/plain; charset=utf-8'

/** Everything is loaded from this origin. Mails are shown in frames. No other site can frame the page. */
const pagePolicy =
  `default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-src 'self';
 form-action 'self'; base-uri 'none'; frame-ancestors 'none'`.replaceAll('\n', '')

/** Applies to a mail outside the frame too. No script runs, and no remote image reports that the mail was read. */
const mailPolicy = `default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none';
 frame-ancestors 'self'; sandbox ${frameRights}`.replaceAll('\n', '')

interface ShownPages {
  readonly store: MailStore
  readonly homeUrl: string
}

function answerTo(pages: ShownPages, request: IncomingMessage): Answer {
  if (!isForThisMachine(request)) return jsonAnswer(421, { error: 'Ask for localhost' })
  const url = new URL(`http://localhost${request.url?.startsWith('/') ? request.url : '/'}`)
  const found = findAnswer(pages, url, request)
  if (found) return found
  const wantsJson = url.pathname.startsWith('/messages')
  if (wantsJson) return jsonAnswer(404, { error: 'Not found' })
  const isMail = url.pathname.startsWith('/mails/')
  const body = isMail
    ? renderNotice('No such mail', 'It was removed, or never came.')
    : renderNotice('Not found', 'This address has no page.')
  return { status: 404, type: HTML, body }
}

function findAnswer(pages: ShownPages, url: URL, { method, headers }: IncomingMessage): Answer | undefined {
  const { store } = pages
  if (method === 'GET' || method === 'HEAD') return answerRead(pages, url)
  if (method === 'DELETE') return answerDelete(store, url)
  // A foreign site can submit a form to this server. `Sec-Fetch-Site` shows that the form comes from another site.
  return method === 'POST' && headers['sec-fetch-site'] !== 'cross-site' ? answerForm(store, url) : undefined
}

function answerRead(pages: ShownPages, url: URL): Answer | undefined {
  const { store } = pages
  if (url.pathname === '/') return { status: 200, type: HTML, body: renderFound(pages, url) }
  if (url.pathname === '/page.css') return { status: 200, type: 'text/css', body: pageStyle }
  if (url.pathname === '/page.js') return { status: 200, type: 'text/javascript', body: pageScript }
  if (url.pathname === '/messages') return answerList(store, url.searchParams)
  const [, collection, id, part] =
    /^\/(mails|messages)\/([1-9]\d{0,9})(?:\/(html|text|source))?$/.exec(url.pathname) ?? []
  const mail = id && store.find(Number(id))
  if (!mail) return undefined
  if (collection === 'mails') {
    if (part) return undefined
    store.markRead(mail.id)
    return { status: 200, type: HTML, body: renderMail(mail) }
  }
  if (part === undefined) return jsonAnswer(200, mail)
  if (part === 'source') return { status: 200, type: TEXT, body: store.findSource(mail.id) ?? '' }
  if (part === 'text') return mail.text === null ? undefined : { status: 200, type: TEXT, body: mail.text }
  if (mail.html === null) return undefined
  return { status: 200, type: HTML, body: renderFrame(mail.html), headers: { 'content-security-policy': mailPolicy } }
}

function renderFound({ store, homeUrl }: ShownPages, { searchParams }: URL): string {
  const query = searchParams.get('q')?.trim() ?? ''
  const mails = store.list()
  const isUnread = ({ id }: CaughtMail) => store.isUnread(id)
  return renderList({
    mails: mails.filter((mail) => contains(mail, query)),
    query,
    total: mails.length,
    isUnread,
    homeUrl,
  })
}

/** Lists mails. `to` selects mails to an address, and `q` selects mails that contain a text. Both ignore case. */
function answerList(store: MailStore, params: URLSearchParams): Answer {
  const to = params.get('to')?.toLowerCase()
  const mails = store
    .list()
    .filter((mail) => !to || mail.to.some((address) => address.toLowerCase() === to))
    .filter((mail) => contains(mail, params.get('q') ?? ''))
  return jsonAnswer(200, { messages: mails.map(summaryOf) })
}

/** Returns whether the subject, the addresses and the text together contain every word of the query, ignoring case. */
function contains({ subject, from, to, cc, text, html }: CaughtMail, query: string): boolean {
  const all = [subject, from, ...to, ...cc, text ?? html].join('\n').toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word))
}

/** Handles the API request to remove a mail or all mails. */
function answerDelete(store: MailStore, { pathname }: URL): Answer | undefined {
  const [path, id] = /^\/messages(?:\/([1-9]\d{0,9}))?$/.exec(pathname) ?? []
  if (path === undefined) return undefined
  if (id === undefined) store.clear()
  else if (!store.remove(Number(id))) return undefined
  return { status: 204, type: TEXT, body: '' }
}

/** Handles a button that removes a mail or all mails. The mail may already be gone. */
function answerForm(store: MailStore, { pathname, search }: URL): Answer | undefined {
  const [, id] = /^\/mails\/([1-9]\d{0,9})\/remove$/.exec(pathname) ?? []
  if (id !== undefined) store.remove(Number(id))
  else if (pathname === '/clear') store.clear()
  else return undefined
  return { status: 303, type: TEXT, body: '', headers: { location: `/${search}` } }
}

function jsonAnswer(status: number, body: unknown): Answer {
  return { status, type: 'application/json', body: `${JSON.stringify(body)}\n` }
}

function sendAnswer(response: ServerResponse, { status, type, body, headers }: Answer): void {
  response.writeHead(status, {
    'content-type': type,
    'content-security-policy': pagePolicy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    ...headers,
  })
  response.end(body)
}

/** The stylesheet of the mail pages, after the stylesheet of all pages. */
const pageStyle = `${PAGE_STYLE}main { overflow-wrap: break-word }
button.bad { color: var(--card); background: var(--bad); border-color: var(--bad) }
button.bad:hover { border-color: var(--text) }
[hidden] { display: none !important }
input { flex: 1 1 8rem; min-width: 0; min-height: 2.75rem; padding: .5rem 1rem; font: inherit; color: inherit;
 background: var(--field); border: 1px solid var(--edge); border-radius: var(--radius-small) }
.bar, .bar form { display: flex; flex-wrap: wrap; gap: .5rem }
.bar { margin: 1.5rem 0 .75rem }
.bar form { flex: 1 1 16rem }
.bar > button { margin-inline-start: auto }
::placeholder { color: var(--soft); opacity: 1 }
.count { min-height: 1.5em; margin: 0 0 .4rem; color: var(--soft); font-size: .9rem }
.none, .mails, .highlights, pre, iframe { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius) }
.none { margin: 0; padding: clamp(1.5rem, 6vw, 3rem) 1rem; text-align: center; color: var(--soft) }
.none svg { width: 3rem; height: 3rem; fill: var(--edge) }
.none h2 { margin: .5rem 0 .25rem; font-size: 1.2rem; color: var(--text) }
.none p { margin: 0 }
.none .command { width: fit-content; max-width: 100%; margin: 1rem auto 0; justify-content: center }
.mails { list-style: none; margin: 0; padding: 0 }
.mails li { position: relative; display: grid; grid-template-columns: minmax(0, 1fr) auto 2.25rem; align-items: center;
 gap: 0 1rem; padding: .6rem .6rem .6rem 1.75rem }
.mails li + li { border-top: 1px solid var(--line) }
.mails a { grid-column: 1; color: inherit; text-decoration: none }
.mails a::after { content: ''; position: absolute; inset: 0 }
.mails li:hover a { text-decoration: underline }
.mails .unread a { font-weight: 700 }
.mails .unread::before { content: ''; position: absolute; inset-inline-start: .65rem; top: 1.15rem; width: .55rem; height: .55rem;
 border-radius: 50%; background: var(--accent) }
.to { grid-column: 1; grid-row: 2; color: var(--soft); font-size: .9rem }
time { color: var(--soft); font-size: .9rem; font-variant-numeric: tabular-nums; white-space: nowrap }
.mails time { grid-column: 2; grid-row: 1 / 3 }
.mails form { position: relative; grid-column: 3; grid-row: 1 / 3 }
.mails .remove { display: grid; place-items: center; width: 2.25rem; min-height: 2.25rem; padding: 0; border-color: transparent;
 background: transparent }
.mails .remove:hover { border-color: var(--edge) }
.mails svg { width: 1rem; stroke: var(--soft); stroke-width: 1.75; stroke-linecap: round }
#confirm { width: min(24rem, 100vw - 2rem); padding: 1.25rem; color: var(--text); background: var(--card);
 border: 1px solid var(--line); border-radius: var(--radius); box-shadow: 0 1rem 3rem rgb(0 0 0 / 30%) }
#confirm::backdrop { background: rgb(0 0 0 / 50%) }
#confirm h2 { margin: 0; font-size: 1.2rem; color: var(--text) }
#confirm p { margin: .4rem 0 1.25rem }
#confirm button { flex: 1 1 6rem; padding-inline: .6rem }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .2rem 1rem; margin: 1rem 0 }
dt { color: var(--soft) }
dd { margin: 0 }
dd time { color: inherit; font-size: inherit }
.highlights { margin: 1.25rem 0; padding: 1.25rem; border-inline-start: .35rem solid var(--accent) }
.highlights p { margin: 0 }
.address { padding-top: .75rem; color: var(--soft); font-size: .85rem }
.code { display: flex; flex-wrap: wrap; align-items: center; gap: .75rem }
p + .code { margin-top: 1rem !important; padding-top: 1rem; border-top: 1px solid var(--line) }
.code strong { font: 700 1.75rem/1.2 ui-monospace, monospace; letter-spacing: .12em }
.code button, .highlights .actions button { margin-inline-start: auto }
.links { margin: 0; padding-inline-start: 1.25rem }
pre { margin: 0; padding: 1rem; white-space: pre-wrap }
iframe { display: block; width: 100%; height: 18rem; background: white; color-scheme: light;
 border: .5rem solid var(--line) }
.shown { margin: 0 0 .5rem; color: var(--soft); font-size: .9rem }
@media (max-width: 36rem) {
 .bar > button { flex: 1 1 100% }
 .highlights :is(button, .button) { flex: 1 1 auto }
 .mails li { grid-template-columns: minmax(0, 1fr) 2.25rem }
 .mails time { grid-column: 1; grid-row: 3 }
 .mails form { grid-column: 2; grid-row: 1 / 4 }
}
`

/**
 * Fetches the list every two seconds while the page is visible, and replaces it only if it has changed. The focus is kept.
 * Buttons copy the link or the code of a mail, and the command that an empty list shows. Times are shown in the reader's time
 * zone, with UTC as a tooltip.
 */
const pageScript = `${COPY_SCRIPT}const showLocalTimes = (part) => {
  for (const time of part.querySelectorAll('time')) {
    time.title = time.textContent
    time.textContent = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
  }
}
showLocalTimes(document)
const place = document.getElementById('mails')
const removeAll = document.querySelector('[popovertarget=confirm]')
const refresh = async () => {
  if (document.hidden) return
  const answer = await fetch(location.href).catch(() => undefined)
  if (!answer?.ok) return
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const fresh = page.getElementById('mails')
  if (!fresh) return
  showCopyButtons(fresh)
  showLocalTimes(fresh)
  if (fresh.innerHTML === place.innerHTML) return
  const focused = place.contains(document.activeElement) ? document.activeElement.id : ''
  place.replaceChildren(...fresh.childNodes)
  document.title = page.title
  const remove = page.querySelector('[popovertarget=confirm]')
  removeAll.parentElement.hidden = remove.parentElement.hidden
  removeAll.textContent = remove.textContent
  document.getElementById('question').textContent = page.getElementById('question').textContent
  if (focused) document.getElementById(focused)?.focus()
}
if (place) setInterval(refresh, 2000)
// The frame is as high as its mail.
const frame = document.querySelector('iframe')
const fit = () => {
  const { documentElement, URL } = frame.contentDocument
  if (documentElement && URL !== 'about:blank') frame.style.height = documentElement.offsetHeight + frame.offsetHeight - frame.clientHeight + 'px'
}
if (frame) {
  frame.addEventListener('load', fit)
  addEventListener('resize', fit)
  fit()
}
`
