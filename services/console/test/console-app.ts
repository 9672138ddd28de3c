import type { Server } from '@trestle/common/server/create-server.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { openTelemetry } from '@trestle/common/telemetry/open-telemetry.ts'
import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { buildApp } from '../src/app.ts'
import { loadConsoleConfig } from '../src/config.ts'
import { createDeps } from '../src/deps.ts'
import { openBrowser, type TestBrowser } from './browser.ts'
import { createUser, keyOf, PASSWORD, type RunningService } from './services.ts'

/** The console, over services in the same process. */
export interface TestConsole {
  readonly app: Server
  readonly origin: string
  /** Moves only the clock of the console. */
  readonly advance: (ms: number) => void
  readonly browser: () => TestBrowser
  /** A browser in which an operator with this role is signed in. */
  readonly signedIn: (role: OperatorRole) => Promise<TestBrowser>
  readonly close: () => Promise<void>
}

const CONSOLE_ORIGIN = 'http://localhost:8083'
const KEYS = OPERATOR_ROLES.map((role) => `${role}:${keyOf(role)}`).join(',')

function consoleSettings(services: readonly Pick<RunningService, 'name' | 'url'>[]): Record<string, string> {
  const calls = services.flatMap(({ name, url }) => [
    [`CONSOLE_${name.toUpperCase()}_URL`, url],
    [`CONSOLE_${name.toUpperCase()}_KEYS`, KEYS],
  ])
  return {
    CONSOLE_BASE_URL: CONSOLE_ORIGIN,
    CONSOLE_SECRET: Buffer.alloc(32, 'console').toString('base64'),
    CONSOLE_REQUIRE_MFA: 'no',
    CONSOLE_LOG_LEVEL: 'fatal',
    ...Object.fromEntries(calls),
  }
}

/** Opens the console over services. @param changes settings over those of all tests */
export async function openTestConsole(
  services: readonly (RunningService | Pick<RunningService, 'name' | 'url'>)[],
  changes: Readonly<Record<string, string>> = {},
): Promise<TestConsole> {
  const config = loadConsoleConfig({ ...consoleSettings(services), ...changes })
  let ahead = 0
  const now = () => new Date(Date.now() + ahead)
  const log = createLogger({ level: 'fatal', stdout: false })
  const deps = createDeps(config, log, await openTelemetry(config.telemetry, { resource: {} }), now)
  const app = await buildApp(deps)
  const browser = () => openBrowser(app, config.origin)
  const auth = services.find((service) => 'command' in service && service.name === 'auth')
  return {
    app,
    origin: config.origin,
    advance: (ms) => {
      ahead += ms
    },
    browser,
    signedIn: async (role) => {
      if (auth === undefined || !('command' in auth)) throw new Error('nobody can sign in without auth')
      const opened = browser()
      const { email } = await createUser(auth, `${role}-${crypto.randomUUID()}@example.com`, role)
      // The page of the search calls no service. The first page would ask all of them for their numbers of a month.
      await opened.open('/sign-in?next=/search')
      await opened.submit('/sign-in', { email, password: PASSWORD })
      return opened
    },
    close: async () => {
      await app.close()
      await deps.close()
    },
  }
}
