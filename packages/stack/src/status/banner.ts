import { join, relative } from 'node:path'
import { styleText } from 'node:util'
import type { StackPlan } from '../settings/plan.ts'
import type { StackStatus } from './stack-status.ts'

/** The folders of the files of the stack. */
export type StackFolders = Pick<StackPlan, 'root' | 'dataDirectory' | 'logDirectory'>

const NAME_WIDTH = 12
const TRIAL_WIDTH = 38

/** The documents that guide through a first use of each service, relative to the root of the checkout. */
export const QUICK_STARTS = [
  { needs: 'auth', path: 'docs/quick-start/sign-in-a-user.md', about: 'Sign users in from a page of your own' },
  { needs: 'payments', path: 'docs/quick-start/take-a-payment.md', about: 'Take a payment, and receive its webhook' },
  { needs: 'inventory', path: 'docs/quick-start/reserve-stock.md', about: 'Reserve stock, and ship it' },
] as const

/**
 * Returns the lines that the terminal shows when the stack runs: addresses, the keys of auth, files of settings, and what to try
 * next. Services that were not started have no line.
 */
export function bannerLines(status: StackStatus, folders: StackFolders): readonly string[] {
  const paragraphs = [addresses(status), keys(status), places(status, folders), trials(status, folders)]
  return paragraphs.filter((lines) => lines.length > 0).flatMap((lines) => ['', ...lines])
}

function addresses({ HOME_URL, DB_URL, MAIL_URL, MAIL_SMTP_URL, ...status }: StackStatus): readonly string[] {
  const api = (url: string | undefined) => url && `${url}   docs ${url}/docs`
  return rows([
    ['auth', api(status.AUTH_URL)],
    ['payments', api(status.PAYMENTS_URL)],
    ['inventory', api(status.INVENTORY_URL)],
    ['console', status.CONSOLE_URL && `${status.CONSOLE_URL}   ${firstOperator(status)}`],
    ['mail', MAIL_URL && `${MAIL_URL}   catches every mail that is sent to ${MAIL_SMTP_URL}`],
    ['PostgreSQL', DB_URL],
    ['all of it', HOME_URL && `${HOME_URL}   a page with these links`],
  ])
}

function firstOperator({ CONSOLE_EMAIL, CONSOLE_PASSWORD }: StackStatus): string {
  return CONSOLE_EMAIL === undefined
    ? 'web pages for operators'
    : `sign in as ${CONSOLE_EMAIL} with the password ${CONSOLE_PASSWORD}`
}

function keys({ ANON_KEY, SERVICE_ROLE_KEY }: StackStatus): readonly string[] {
  const lines = rows([
    ['publishable', ANON_KEY],
    ['service', SERVICE_ROLE_KEY],
  ])
  return lines.length === 0 ? [] : [heading('Keys of auth (service may do everything: for servers only)'), ...lines]
}

function shownPath(root: string, path: string): string {
  const short = relative(root, path)
  return short.startsWith('..') ? path : short
}

function places(status: StackStatus, { root, dataDirectory, logDirectory }: StackFolders): readonly string[] {
  const services = [
    status.AUTH_URL && 'auth',
    status.PAYMENTS_URL && 'payments',
    status.INVENTORY_URL && 'inventory',
    status.CONSOLE_URL && 'console',
  ].filter((name): name is string => Boolean(name))
  return rows([
    ['settings', 'yours go into .env; to apply a change, stop and start again'],
    ['in effect', services.map((name) => shownPath(root, join(dataDirectory, `${name}.env`))).join(', ')],
    ['logs', `npm start -- logs [service] [--errors]   (in ${shownPath(root, logDirectory)})`],
    ['this again', 'npm start -- status [-o env|json]'],
    ['stop', 'npm start -- stop, or Ctrl-C where it runs'],
  ])
}

function trials(
  { AUTH_URL, PAYMENTS_URL, INVENTORY_URL, MAIL_URL }: StackStatus,
  folders: Pick<StackFolders, 'root' | 'dataDirectory'>,
): readonly string[] {
  const hasAll = AUTH_URL && PAYMENTS_URL && INVENTORY_URL
  const lines = [
    AUTH_URL && MAIL_URL && trial('npx node examples/sign-up.ts', 'sign up, read the mail, follow its link, sign in'),
    PAYMENTS_URL && !hasAll && trial('npx node examples/create-merchant.ts', 'make an app and merchants'),
    hasAll && trial('npx node examples/shop/server.ts', 'a shop that uses all three services'),
    INVENTORY_URL && trial('npx node examples/list-stock.ts', 'receive, reserve and ship stock'),
    PAYMENTS_URL && `  ${listenCommand(folders)}`,
    PAYMENTS_URL && '      sends events of payments to your program; trigger in place of listen makes one happen',
  ].filter((line): line is string => Boolean(line))
  const running = { auth: AUTH_URL, payments: PAYMENTS_URL, inventory: INVENTORY_URL }
  const guides = QUICK_STARTS.filter(({ needs }) => running[needs]).map(({ path, about }) => trial(path, about))
  return [heading('Try, in another terminal'), ...lines, '', heading('Read, with curl and TypeScript'), ...guides]
}

function trial(what: string, about: string): string {
  return `  ${what.padEnd(TRIAL_WIDTH)}${about}`
}

/** Returns the command that forwards events of payments to a developer's program. */
export function listenCommand({ root, dataDirectory }: Pick<StackFolders, 'root' | 'dataDirectory'>): string {
  const settings = shownPath(root, join(dataDirectory, 'payments.env'))
  return `npm -s run payments -- -c ${settings} listen --forward-to localhost:3000/hook`
}

function rows(cells: readonly (readonly [string, string | undefined])[]): readonly string[] {
  return cells.flatMap(([name, text]) => (text ? [`  ${name.padEnd(NAME_WIDTH)}${text}`] : []))
}

function heading(text: string): string {
  return styleText('bold', text)
}
