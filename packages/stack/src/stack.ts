import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { claimStack, endLeftoverServices } from './leftovers.ts'
import { startMailCatcher } from './mail/mail-catcher.ts'
import { type EmbeddedDatabase, settleDatabase, startDatabase } from './postgres/embedded-database.ts'
import { requireFreePorts } from './processes/free-ports.ts'
import { startServices } from './service-group.ts'
import type { StackPlan } from './settings/plan.ts'
import { loadSecrets } from './settings/secrets-file.ts'
import { services } from './settings/services.ts'

/** What the stack says to the person at the terminal, and how it is told to stop. */
export interface StackControl {
  readonly say: (line: string) => void
  readonly stop: AbortSignal
}

/**
 * Starts the database, the mail catcher and the services, says where they are, and keeps them running until it is told
 * to stop. Whatever happens, everything that was started is stopped before it returns or throws: the services first,
 * the database last.
 *
 * @throws {StackFailure} when something cannot start, or does not stay up.
 */
export async function runStack(plan: StackPlan, control: StackControl): Promise<void> {
  for (const folder of [plan.dataDirectory, plan.runDirectory, plan.logDirectory])
    mkdirSync(folder, { recursive: true })
  await using started = new AsyncDisposableStack()
  try {
    const { failed } = await startEverything(plan, control, started)
    for (const line of addressLines(plan)) control.say(line)
    control.say('Trestle is ready')
    await Promise.race([untilStopped(control.stop), failed])
  } catch (error) {
    if (!control.stop.aborted) throw error
  }
  control.say('Stopping')
}

/** @returns in an object, since it never resolves: a promise that rejects when a part does not stay up. */
async function startEverything(plan: StackPlan, { say, stop }: StackControl, started: AsyncDisposableStack) {
  started.defer(await claimStack(plan.runDirectory, { pid: process.pid, program: plan.program }))
  const pidFiles = services.map(({ name }) => join(plan.runDirectory, `${name}.pid`))
  await endLeftoverServices(pidFiles, say)
  const secrets = loadSecrets(join(plan.dataDirectory, 'secrets.env'))
  const home =
    plan.databasePort === undefined ? undefined : await settleDatabase(plan.dataDirectory, plan.stateDirectory)
  await requireFreePorts(plan.ports)
  if (plan.hasMail) {
    const catcher = await startMailCatcher({ smtp: plan.smtpPort, web: plan.webPort })
    started.defer(() => catcher.close())
  }
  let database: EmbeddedDatabase | undefined
  if (home && plan.databasePort !== undefined) {
    const password = secrets.TRESTLE_DATABASE_PASSWORD
    const logFile = join(plan.logDirectory, 'postgres.log')
    database = await startDatabase(home, { port: plan.databasePort, password, logFile, say, stop })
    started.defer(() => database?.end())
  }
  stop.throwIfAborted()
  const group = await startServices(plan, {
    databaseUrl: database?.url ?? '',
    secrets,
    smtpPort: plan.smtpPort,
    compileCache: join(plan.dataDirectory, 'cache', 'node'),
    say,
    stop,
  })
  started.defer(() => group.end())
  return { failed: database ? Promise.race([group.failed, database.failed]) : group.failed }
}

/** What is where, one line each. */
function addressLines(plan: StackPlan): readonly string[] {
  const rows = [
    ...plan.services.map(({ definition: { name }, address: { url, metrics } }) => [
      name,
      metrics ? `${url}, metrics http://localhost:${metrics.port}` : url,
    ]),
    ...(plan.hasMail ? [['mail', `http://localhost:${plan.webPort}, SMTP localhost:${plan.smtpPort}`]] : []),
    ...(plan.databasePort === undefined ? [] : [['PostgreSQL', `localhost:${plan.databasePort}`]]),
    ['logs', plan.logDirectory],
  ]
  return rows.map(([name = '', where = '']) => `  ${name.padEnd(11)}${where}`)
}

function untilStopped(stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted) resolve()
    else stop.addEventListener('abort', () => resolve(), { once: true })
  })
}
