import type { IncomingMessage, ServerResponse } from 'node:http'
import { isForThisMachine, startLocalServer } from '../local-server.ts'
import { pageScript, pageStyle } from './mail-assets.ts'
import { frameRights, renderFrame, renderList, renderMail, renderNotice } from './mail-page.ts'
import { type CaughtMail, type MailStore, openMailStore, summaryOf } from './mail-store.ts'
import { startSmtpListener } from './smtp-listener.ts'

/** A running mail catcher, and the ports it listens on. */
export interface MailCatcher {
  readonly smtpPort: number
  readonly webPort: number
  close(): Promise<void>
}

/**
 * Starts the SMTP listener and the web page. Port 0 chooses a free port.
 *
 * @param folder where mails are kept for the next start
 * @param homeUrl the address of the page of the stack, which the list of mails links to
 * @throws StackFailure when a kept mail cannot be read
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

/** Everything comes from this address. Mails are shown in frames, and no other site may frame the page. */
const pagePolicy =
  `default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-src 'self';
 form-action 'self'; base-uri 'none'; frame-ancestors 'none'`.replaceAll('\n', '')

/** Applies also when the HTML of a mail is opened outside the frame: no script runs, and no remote image reports the reading. */
const mailPolicy = `default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none';
 frame-ancestors 'self'; sandbox ${frameRights}`.replaceAll('\n', '')

/** The data of the pages. */
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
  // A foreign site can submit a form here. Browsers send its origin.
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

/** Lists mails. `to` chooses those to an address, `q` those that contain a text; both in any case. */
function answerList(store: MailStore, params: URLSearchParams): Answer {
  const to = params.get('to')?.toLowerCase()
  const mails = store
    .list()
    .filter((mail) => !to || mail.to.some((address) => address.toLowerCase() === to))
    .filter((mail) => contains(mail, params.get('q') ?? ''))
  return jsonAnswer(200, { messages: mails.map(summaryOf) })
}

/** Whether subject, addresses and text contain every word of the query, in any case. */
function contains({ subject, from, to, cc, text, html }: CaughtMail, query: string): boolean {
  const all = [subject, from, ...to, ...cc, text ?? html].join('\n').toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word))
}

/** The request of a program to remove a mail, or all of them. */
function answerDelete(store: MailStore, { pathname }: URL): Answer | undefined {
  const [path, id] = /^\/messages(?:\/([1-9]\d{0,9}))?$/.exec(pathname) ?? []
  if (path === undefined) return undefined
  if (id === undefined) store.clear()
  else if (!store.remove(Number(id))) return undefined
  return { status: 204, type: TEXT, body: '' }
}

/** The request of a person by a button to remove a mail, which may be gone already, or all of them. */
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
