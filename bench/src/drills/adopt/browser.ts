import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startChromium } from '@trestle/testing/chromium.ts'
import { findProgram } from '@trestle/testing/find-program.ts'
import { type StubAnswer, type StubRequest, startStubProvider } from '@trestle/testing/stub-provider.ts'
import type { Page } from 'playwright-core'
import { z } from 'zod'
import { ROOT, say } from '../../program.ts'
import { PASSWORD } from './users.ts'

/** Two tabs of one browser, with a user who is signed in at the old service. */
export interface Tabs {
  /** Refreshes in the first tab, with any response. */
  refreshFirst(): Promise<void>
  /** Switches both tabs to another service. @throws Error if a tab is signed out, or cannot read its user */
  continueAt(url: string): Promise<void>
  close(): Promise<void>
}

interface ClientError {
  readonly name: string
  readonly message: string
  readonly status?: number
}

const UserData = z.object({ user: z.object({ email: z.string() }) })
const EMAIL = 'browser@example.com'
const REFRESH = 'client.auth.refreshSession()'
const DISCARDED = 'AuthRefreshDiscardedError'
const SETTLE_MS = 30_000
const SETTLE_STEP_MS = 20

/** The Chromium program: CHROMIUM, or the one in PATH. @throws Error if there is none */
export function requireChromium(): string {
  const program = process.env.CHROMIUM ?? findProgram('chromium')
  if (program !== undefined) return program
  throw new Error('the drill needs Chromium: install it (Debian: chromium), or name its program in CHROMIUM')
}

/**
 * Signs a user up with supabase-js in Chromium, and opens a second tab with the same storage. Like Supabase's gateway, the page
 * is in front of the service: its URL stays the same when the service is replaced.
 * @throws Error if the user cannot sign up
 */
export async function openTabs(chromium: string, serviceUrl: string): Promise<Tabs> {
  await using started = new AsyncDisposableStack()
  const state = { serviceUrl }
  const gateway = await startStubProvider((request) => answerPage(request, state.serviceUrl))
  started.defer(() => gateway.close())
  const browser = await startChromium(chromium)
  started.defer(() => browser.close())
  const context = await browser.newContext()
  const open = async () => {
    const tab = await context.newPage()
    await tab.goto(gateway.url)
    return tab
  }
  const first = await open()
  const signedUp = await act(first, `client.auth.signUp(${JSON.stringify({ email: EMAIL, password: PASSWORD })})`)
  if (signedUp.error !== null) throw new Error(`supabase-js cannot sign up: ${JSON.stringify(signedUp)}`)
  const second = await open()
  const running = started.move()
  return {
    refreshFirst: async () => {
      await act(first, REFRESH)
    },
    continueAt: async (url) => {
      state.serviceUrl = url
      await continueInBothTabs(first, second)
    },
    close: () => running.disposeAsync(),
  }
}

/** Sends the parent of the newest token, like a tab that read the token before the other tab refreshed. */
async function continueInBothTabs(first: Page, second: Page): Promise<void> {
  const steps: readonly (readonly [tab: Page, script: string])[] = [
    [second, `client.auth.refreshSession({ refresh_token: parents.at(-2) ?? '' })`],
    [first, REFRESH],
    [second, REFRESH],
    [first, 'client.auth.getUser()'],
    [second, 'client.auth.getUser()'],
  ]
  for (const [tab, script] of steps) {
    await settle(first, second)
    const { error } = await act(tab, script)
    if (error !== null) throw new Error(`${script} fails in a tab: ${JSON.stringify(error)}`)
  }
  await refreshAtOnce(first, second)
  const seen: string[] = []
  for (const tab of [first, second]) {
    seen.push(...(await tab.evaluate<string[]>('events')))
    await tab.reload()
    const { data } = await act(tab, 'client.auth.getUser()')
    if (UserData.safeParse(data).data?.user.email !== EMAIL) throw new Error('a tab has no user after a reload')
    seen.push(...(await tab.evaluate<string[]>('events')))
  }
  if (seen.includes('SIGNED_OUT')) throw new Error(`a tab was signed out: ${seen.join(', ')}`)
  say(`two tabs go on without SIGNED_OUT; their events: ${[...new Set(seen)].join(', ')}`)
}

/** Both tabs refresh with one token. auth-js drops the overtaken response and keeps the session. */
async function refreshAtOnce(first: Page, second: Page): Promise<void> {
  await settle(first, second)
  const answers = await Promise.all([act(first, REFRESH), act(second, REFRESH)])
  const failed = answers.filter(({ error }) => error !== null && error.name !== DISCARDED)
  if (failed.length > 0) throw new Error(`two tabs cannot refresh at once: ${JSON.stringify(failed)}`)
  await settle(first, second)
}

/**
 * Waits until both tabs read the same session. Each Chromium process has a copy of the storage, which gets the writes of other
 * processes with a delay. If a tab refreshed earlier, auth-js would report `Refresh result discarded`, whatever the service
 * responds.
 */
async function settle(first: Page, second: Page): Promise<void> {
  const deadlineMs = performance.now() + SETTLE_MS
  for (;;) {
    const token = await first.evaluate<string | null>('tokenOf()')
    const isSeen = `tokenOf() === ${JSON.stringify(token)} && parents.includes(tokenOf())`
    const seen = await Promise.all([first, second].map((tab) => tab.evaluate<boolean>(isSeen)))
    if (!seen.includes(false)) return
    if (performance.now() > deadlineMs) throw new Error('the tabs of the browser do not see the same session')
    await pause(SETTLE_STEP_MS)
  }
}

function act(tab: Page, script: string): Promise<{ readonly data: unknown; readonly error: ClientError | null }> {
  return tab.evaluate(`(async () => {
    const { data, error } = await ${script}
    return { data, error: error && { name: error.name, message: error.message, status: error.status } }
  })()`)
}

const LIBRARY = readFileSync(
  createRequire(join(ROOT, 'services', 'auth', 'package.json')).resolve('@supabase/supabase-js/dist/umd/supabase.js'),
  'utf8',
)
/** Each tab records the refresh tokens that it has seen, including those fetched by the other tab. */
const PAGE = `<!doctype html><link rel="icon" href="data:,"><script src="/supabase.js"></script><script>
  const events = [], parents = []
  const client = supabase.createClient(location.origin, 'anon')
  const tokenOf = () => JSON.parse(localStorage.getItem(client.auth.storageKey) ?? 'null')?.refresh_token ?? null
  client.auth.onAuthStateChange((event, session) => {
    events.push(event)
    if (session && parents.at(-1) !== session.refresh_token) parents.push(session.refresh_token)
  })
</script>`

async function answerPage(request: StubRequest, serviceUrl: string): Promise<StubAnswer> {
  const [, path] = /^\/auth\/v1(\/.*)$/.exec(request.url) ?? []
  if (path === undefined) {
    return request.url === '/supabase.js'
      ? { headers: { 'content-type': 'text/javascript; charset=utf-8' }, body: LIBRARY }
      : { headers: { 'content-type': 'text/html; charset=utf-8' }, body: PAGE }
  }
  const { authorization = '' } = request.headers
  try {
    const answer = await fetch(serviceUrl + path, {
      method: request.method,
      headers: { 'content-type': 'application/json', authorization },
      ...(request.body !== '' && { body: request.body }),
    })
    return { status: answer.status, body: await answer.text() }
  } catch {
    return { status: 502, body: {} }
  }
}
