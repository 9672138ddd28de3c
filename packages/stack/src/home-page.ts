import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import {
  type FrontPage,
  type PageLink,
  type RenderedPage,
  renderFrontPage,
  renderNotFound,
  renderText,
  wantsPage,
} from '@trestle/common/documents/front-page.ts'
import { escapeHtml } from '@trestle/common/documents/html.ts'
import { Marked } from 'marked'
import { COPY_SCRIPT, renderCode, renderCommand } from './command-block.ts'
import { isForThisMachine, type LocalServer, startLocalServer } from './local-server.ts'
import type { StackPlan } from './settings/plan.ts'
import { listenCommand, QUICK_STARTS } from './status/banner.ts'

/**
 * Serves the page of the stack, with links to everything that runs and to the guides. `AUTH_SITE_URL` is the address of this
 * page, so a sign-in by a mail link ends here.
 */
export function startHomePage(plan: StackPlan): Promise<LocalServer> {
  const page = renderFrontPage(describeStack(plan))
  return startLocalServer(plan.homePort, (request, response) => answer(request, response, { page, plan }))
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { page, plan }: { readonly page: RenderedPage; readonly plan: StackPlan },
): void {
  const { method } = request
  const path = request.url?.split('?', 1)[0]
  if (!isForThisMachine(request)) sendText(response, 421, 'Ask for localhost')
  else if (method !== 'GET' && method !== 'HEAD') sendText(response, 405, 'Only GET', { allow: 'GET, HEAD' })
  else if (path === '/') response.writeHead(200, page.headers).end(page.html)
  else void sendGuide(request, response, plan)
}

const notFoundPage = renderNotFound('The start page links to everything that runs.')

/** Sends the page of a document of the checkout, or `Not found` for any other path. */
async function sendGuide(request: IncomingMessage, response: ServerResponse, plan: StackPlan): Promise<void> {
  const path = request.url?.split('?', 1)[0] ?? ''
  const guide = await renderGuide(plan.root, path)
  if (guide !== undefined) response.writeHead(200, guide.headers).end(guide.html)
  else if (wantsPage(request.headers.accept)) response.writeHead(404, notFoundPage.headers).end(notFoundPage.html)
  else sendText(response, 404, `Not found. The page of the stack is at ${plan.homeUrl}/`)
}

function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(`${text}\n`)
}

/** Descriptions, in the order of the page. */
const abouts: Readonly<Record<string, string>> = {
  auth: 'Accounts, sessions and tokens.',
  payments: 'Card payments with 3-D Secure, on a double-entry ledger.',
  inventory: 'Products, and stock that cannot be oversold.',
  console: 'Web pages for the people who run the three: users, payments and stock.',
}

function describeStack(plan: DescribedPlan): FrontPage {
  const services = Object.keys(abouts).flatMap((name) => plan.services.filter((one) => one.definition.name === name))
  const mail = {
    label: 'mail catcher',
    href: `http://localhost:${plan.webPort}`,
    about: 'Every mail that the services send.',
  }
  const guides = QUICK_STARTS.filter(({ needs }) => services.some(({ definition }) => definition.name === needs))
  const catcher = plan.hasMail ? mail.href : undefined
  return {
    title: 'Trestle runs on this machine',
    about: 'Started by `npm start`. Only this machine can open these addresses.',
    before: arrivalNotice,
    groups: [
      { heading: 'Open', links: [...services.map(linkOf), ...(plan.hasMail ? [mail] : [])] },
      {
        heading: 'Read, with curl and TypeScript',
        hasLongLabels: true,
        links: guides.map(({ path, about }) => ({ label: about, href: `/${path}`, about: `\`${path}\`` })),
      },
    ],
    after:
      renderCommands('Try an example', EXAMPLES, plan) + renderCommands('In a terminal', terminalCommands(plan), plan),
    script: arrivalScript(catcher) + COPY_SCRIPT,
  }
}

type DescribedPlan = Pick<StackPlan, 'services' | 'hasMail' | 'webPort' | 'root' | 'dataDirectory'>

function linkOf({ definition: { name }, address: { url, metrics } }: StackPlan['services'][number]): PageLink {
  const port = metrics?.port
  return {
    label: name,
    href: url,
    about: abouts[name] ?? '',
    more: [
      ...(name === 'console' ? [] : [{ label: 'API', href: `${url}/docs` }]),
      ...(port === undefined ? [] : [{ label: 'Metrics', href: `http://localhost:${port}/` }]),
    ],
  }
}

/** A command to copy. The page shows it if all required services run. */
interface ShownCommand {
  readonly needs: readonly string[]
  /** The effect of the command. Text between backticks is shown as code. */
  readonly about: string
  readonly command: string
}

const EXAMPLES: readonly ShownCommand[] = [
  {
    needs: ['auth'],
    about: 'Sign somebody up, read the mail, follow its link:',
    command: 'npx node examples/sign-up.ts',
  },
  {
    needs: ['inventory'],
    about: 'Create a product, then receive, reserve and ship it:',
    command: 'npx node examples/list-stock.ts',
  },
  {
    needs: ['auth', 'payments', 'inventory'],
    about: 'Open a shop that uses all three services:',
    command: 'npx node examples/shop/server.ts',
  },
]

function terminalCommands(plan: DescribedPlan): readonly ShownCommand[] {
  return [
    { needs: [], about: 'Addresses, keys and the database:', command: 'npm start -- status' },
    { needs: [], about: 'One line a request, as it comes:', command: 'npm start -- logs' },
    { needs: [], about: 'Stop everything, as Ctrl-C does in its terminal:', command: 'npm start -- stop' },
    {
      needs: ['payments'],
      about:
        'Send events of payments to your program, signed with a secret that is printed. With `trigger dispute.opened` in place of `listen …`, make one happen:',
      command: listenCommand(plan),
    },
  ]
}

function renderCommands(heading: string, commands: readonly ShownCommand[], { services }: DescribedPlan): string {
  const running = services.map(({ definition }) => definition.name)
  const shown = commands.filter(({ needs }) => needs.every((name) => running.includes(name)))
  if (shown.length === 0) return ''
  const id = heading.toLowerCase().replaceAll(' ', '-')
  const steps = shown.map(
    ({ about, command }, i) => `<li><span>${renderText(about)}</span>${renderCommand(`${id}-${i}`, command)}</li>`,
  )
  return `<section><h2>${heading}</h2><ul class="steps">${steps.join('')}</ul></section>\n`
}

/** The element for the result of a sign-in. It is empty and hidden until the script fills it. */
const arrivalNotice = '<div id="arrival" class="notice" role="status" hidden></div>\n'

/**
 * Functions for the script below: they write elements, texts with code between bars, values with a button, and the claims of a
 * token.
 */
const ARRIVAL_PARTS = `const add = (name, text, to = place) => to.appendChild(Object.assign(document.createElement(name), { textContent: text }))
const addMarked = (text) => {
  const line = add('p', '')
  text.split('|').forEach((part, i) => add(i % 2 === 1 ? 'code' : 'span', part, line))
}
const addCopied = (label, text, to) => {
  const id = label.toLowerCase().replace(' ', '-')
  const block = Object.assign(add('div', '', to), { className: 'command' })
  add('h3', label, block)
  Object.assign(add('button', 'Copy', block), { className: 'quiet', hidden: true }).dataset.copy = id
  Object.assign(add('code', text, block), { id })
}
const claimsOf = (token) => {
  try {
    const bytes = Uint8Array.from(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return {}
  }
}
`

/**
 * Shows the values that auth has put into the URL, and removes them from the URL: a session in the fragment, a code in the query,
 * or an error in either (auth reference: Verification redirects). It sends no request.
 */
const arrivalScript = (
  mailUrl: string | undefined,
) => `const brought = new Map([...new URLSearchParams(location.search), ...new URLSearchParams(location.hash.slice(1))])
const titles = { signup: 'Your address is confirmed', recovery: 'You may set a new password', invite: 'You have accepted the invitation',
  email_change: 'Your new address is confirmed' }
const place = document.getElementById('arrival')
${ARRIVAL_PARTS}const show = (title, text) => {
  add('h2', title)
  add('p', text)
  place.hidden = false
}
const showSession = (token) => {
  const claims = claimsOf(token)
  const who = claims.email || claims.phone || claims.sub || 'a user'
  const wish = brought.get('type') === 'recovery' ? ' Set the password with PUT /user and the access token.' : ''
  const title = titles[brought.get('type')]
  show('You are signed in', (title ? title + '. ' : '') + 'This is the session of ' + who + '.' + wish)
  addMarked('To have a link end in your own page, pass |emailRedirectTo| (any port of |http://localhost|), or set |AUTH_SITE_URL| in |.env| and start again.')
  const details = place.appendChild(document.createElement('details'))
  add('summary', 'Access token, its claims, and refresh token', details)
  addCopied('Access token', token, details)
  addCopied('Claims', JSON.stringify(claims, null, 2), details)
  if (brought.get('refresh_token')) addCopied('Refresh token', brought.get('refresh_token'), details)
}
const problem = brought.get('error_description') || brought.get('error')
if (problem) {
  place.classList.add('bad')
  show('The sign-in did not work', problem + (brought.get('error_code') ? ' (' + brought.get('error_code') + ')' : ''))
  const mailUrl = ${JSON.stringify(mailUrl ?? null)}
  if (brought.get('error_code') === 'otp_expired') {
    const line = add('p', 'A link works once, and not for long. Ask for a new mail.')
    if (mailUrl) {
      add('span', ' It arrives in the ', line)
      add('a', 'mail catcher', line).href = mailUrl
      add('span', '.', line)
    }
  }
} else if (brought.get('access_token')) showSession(brought.get('access_token'))
else if (brought.get('code')) {
  show('A code has arrived', 'It is not a session yet. The app that began this sign-in kept a secret, its code verifier (PKCE), and this page does not have it.')
  addMarked('The app exchanges both for a session: |POST /token?grant_type=pkce| with |auth_code| and |code_verifier|.')
  addCopied('Code', brought.get('code'), place)
} else if (brought.get('message')) show('Almost done', brought.get('message'))
if (!place.hidden) history.replaceState(null, '', location.pathname)
`

/** A path of a document. No path segment begins with a dot, so the path cannot leave the checkout. */
const DOCUMENT_PATH = /^\/((?!node_modules\/)(?:\w[\w-]*\/)*\w[\w-]*\.md)$/

/**
 * Renders a document of the checkout, because browsers save a Markdown file instead of showing it.
 * @param root the folder of the checkout
 * @param urlPath the path of the URL, such as `/docs/quick-start/reserve-stock.md`
 * @returns `undefined` if the document does not exist
 */
export async function renderGuide(root: string, urlPath: string): Promise<RenderedPage | undefined> {
  const [, path] = DOCUMENT_PATH.exec(urlPath) ?? []
  if (path === undefined) return undefined
  const file = await readFile(join(root, path), 'utf8').catch(() => undefined)
  if (file === undefined) return undefined
  const [, title = path, text = file] = /^# ([^\n]+)\n(.*)$/s.exec(file) ?? []
  return renderFrontPage({
    title,
    about: `From \`${path}\``,
    groups: [],
    back: { label: 'Start page', href: '/' },
    before: `<article>${await createMarkdown().parse(text)}</article>`,
    style: STYLE,
    script: COPY_SCRIPT,
  })
}

/**
 * Returns the converter from Markdown to HTML. A wide table can have the focus, so that the keyboard can scroll it. Headings have
 * anchors made from their words. The page loads nothing, so the alternative texts of pictures replace the pictures.
 */
function createMarkdown(): Marked {
  let examples = 0
  return new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      image: ({ text }) => escapeHtml(text),
      code: ({ text }) => renderExample(`example-${++examples}`, text),
      codespan: ({ text }) => `<code>${renderCode(text)}</code>`,
    },
    hooks: {
      postprocess: (html) =>
        html.replaceAll('<table>', '<div class="table" tabindex="0"><table>').replaceAll('</table>', '</table></div>'),
    },
  })
}

/** Renders an example. Its first lines leave space for the button on the right. */
function renderExample(id: string, text: string): string {
  return `<div class="example"><button class="quiet" data-copy="${id}" hidden>Copy</button><pre><code id="${id}">${renderCode(text)}</code></pre></div>\n`
}

/** Returns the anchor of a heading, in the format of GitHub. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

const STYLE = `article { overflow-wrap: break-word }
article h2, article h3, article h4 { margin: 2rem 0 .5rem; font-size: 1.3rem; line-height: 1.3; color: var(--text) }
article h3 { font-size: 1.1rem } article h4 { font-size: 1rem }
article a { font-weight: inherit; overflow-wrap: break-word }
article :is(ul, ol) { padding-inline-start: 1.5rem }
article li { display: list-item; padding: 0 } article li + li { margin-top: .5rem; border: 0 } article li > a::after { content: none }
.example { display: flow-root; margin: 1rem 0; padding: .75rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: var(--radius-small) }
.example button { float: inline-end; min-height: 2.25rem; margin: -.25rem -.5rem .25rem .75rem; padding: .3rem .6rem; background: var(--card) }
.example pre { margin: 0 } article code { overflow-wrap: anywhere }
.table { margin: 1rem 0; overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: var(--radius-small) }
article table { border-collapse: collapse; min-width: 100% }
article th, article td { padding: .5rem .75rem; text-align: start; vertical-align: top; border-bottom: 1px solid var(--line) }
article td { min-width: 4rem } article td:first-child { min-width: 6rem } article td:nth-child(2) { min-width: 11rem } article tr:last-child td { border-bottom: 0 }
`
