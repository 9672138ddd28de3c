import { accessSync, constants, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startHomePage } from './home-page.ts'
import { startMailCatcher } from './mail/mail-catcher.ts'
import { type EmbeddedDatabase, prepareHome, startDatabase } from './postgres/embedded-database.ts'
import { requireFreePorts, requireNoOtherStack } from './processes/free-ports.ts'
import { claimPidFile, endProcess, findRunning, type PidRecord, releasePidFile } from './processes/process-identity.ts'
import { startServices } from './service-group.ts'
import type { StackPlan } from './settings/plan.ts'
import { loadSecrets } from './settings/secrets-file.ts'
import { environmentOf } from './settings/service-environment.ts'
import { FIRST_OPERATOR, services } from './settings/services.ts'
import { StackFailure } from './stack-failure.ts'
import { collectStatus, type StackStatus } from './status/stack-status.ts'
import { removeStatus, writeStatus } from './status/status-file.ts'

export interface StackControl {
  readonly say: (line: string) => void
  /** Called when everything runs. The stack counts as ready (also for `status --wait`) when the returned promise resolves. */
  readonly fill: (status: StackStatus) => Promise<void>
  /** Called when the stack is ready. The stack keeps running in the meantime. If the returned promise rejects, the stack stops */
  readonly whenReady: (status: StackStatus) => Promise<void>
  readonly stop: AbortSignal
}

/**
 * Starts the database, the mail catcher and the services, and keeps them running until `stop`. Before it returns or throws, it
 * stops everything that it has started: the services first, the database last.
 *
 * @throws StackFailure if a part cannot start or ends too often
 */
export async function runStack(plan: StackPlan, control: StackControl): Promise<void> {
  createFolders(plan)
  await runUntilStopped(plan, control)
  control.say('Stopped')
}

/** Returns or throws after everything that it has started is stopped. */
async function runUntilStopped(plan: StackPlan, control: StackControl): Promise<void> {
  await using started = new AsyncDisposableStack()
  try {
    const { failed, status } = await startEverything(plan, control, started)
    const stopped = waitUntilStopped(control.stop)
    await Promise.race([stopped, control.fill(status), failed])
    control.stop.throwIfAborted()
    started.defer(() => removeStatus(plan))
    writeStatus(plan, status)
    await Promise.race([control.whenReady(status).then(() => stopped), stopped, failed])
  } catch (error) {
    if (!control.stop.aborted) throw error
  }
  control.say('Stopping')
}

/** Creates the folders of a start. @throws StackFailure if a folder cannot be created or written to */
export function createFolders({ dataDirectory, runDirectory, logDirectory }: StackPlan): void {
  try {
    for (const folder of [dataDirectory, runDirectory, logDirectory]) {
      mkdirSync(folder, { recursive: true })
      accessSync(folder, constants.W_OK)
    }
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    const problem = `${dataDirectory} cannot be written (${cause.code}). Set TRESTLE_DATA_DIRECTORY to a folder that can.`
    throw new StackFailure([problem], { cause })
  }
}

/** @returns the status, and `failed`, which never resolves and rejects if a part ends too often */
async function startEverything(plan: StackPlan, { say, stop }: StackControl, started: AsyncDisposableStack) {
  started.defer(await claimStack(plan.runDirectory, { pid: process.pid, program: plan.program }))
  // A killed stack leaves its status file, whose addresses may differ from those of this start.
  removeStatus(plan)
  await requireNoOtherStack(plan.homePort, plan)
  const pidFiles = services.map(({ name }) => join(plan.runDirectory, `${name}.pid`))
  await endLeftoverServices(pidFiles, say)
  const secrets = loadSecrets(join(plan.dataDirectory, 'secrets.env'))
  const postgres =
    plan.databasePort === undefined ? undefined : await prepareHome(plan.dataDirectory, plan.stateDirectory)
  await requireFreePorts(plan.ports)
  const home = await startHomePage(plan)
  started.defer(() => home.close())
  if (plan.hasMail) {
    const catcher = await startMailCatcher(
      { smtp: plan.smtpPort, web: plan.webPort },
      join(plan.dataDirectory, 'mails'),
      plan.homeUrl,
    )
    started.defer(() => catcher.close())
  }
  let database: EmbeddedDatabase | undefined
  if (postgres && plan.databasePort !== undefined) {
    const password = secrets.TRESTLE_DATABASE_PASSWORD
    const logFile = join(plan.logDirectory, 'postgres.log')
    database = await startDatabase(postgres, { port: plan.databasePort, password, logFile, say, stop })
    started.defer(() => database?.end())
  }
  stop.throwIfAborted()
  const shared = {
    databaseUrl: database?.url ?? '',
    secrets,
    smtpPort: plan.smtpPort,
    homeUrl: plan.homeUrl,
    movedLogDirectory: plan.env.TRESTLE_DATA_DIRECTORY ? plan.logDirectory : undefined,
    compileCache: join(plan.dataDirectory, 'cache', 'node'),
  }
  const group = await startServices(plan, { ...shared, say, stop })
  started.defer(() => group.end())
  const auth = plan.services.find(({ definition }) => definition.name === 'auth')?.definition
  const status = await collectStatus({
    homeUrl: plan.homeUrl,
    services: plan.services.map(({ definition, address }) => ({ prefix: definition.prefix, ...address })),
    mail: plan.hasMail ? { web: plan.webPort, smtp: plan.smtpPort } : undefined,
    databaseUrl: database?.url ?? plan.env.DATABASE_URL,
    jwtSecret: auth && environmentOf(auth, plan.env, shared).AUTH_JWT_SECRET,
    operator:
      auth && plan.services.some(({ definition }) => definition.name === 'console')
        ? { email: FIRST_OPERATOR, password: secrets.TRESTLE_OPERATOR_PASSWORD }
        : undefined,
    now: new Date(),
  })
  return { status, failed: database ? Promise.race([group.failed, database.failed]) : group.failed }
}

function waitUntilStopped(stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted) resolve()
    else stop.addEventListener('abort', () => resolve(), { once: true })
  })
}

const leftoverSteps = [
  { signal: 'SIGTERM', waitMs: 3_000, target: 'process' },
  { signal: 'SIGKILL', waitMs: 1_000, target: 'group' },
] as const

/**
 * Makes this process the only stack of the data directory.
 *
 * @returns a function that releases the claim
 * @throws StackFailure if another stack is running
 */
async function claimStack(runDirectory: string, self: PidRecord): Promise<() => void> {
  const file = join(runDirectory, 'stack.pid')
  // If the first attempt finds the pid file of a killed stack, it removes the file, and the second attempt claims it.
  for (let attempt = 0; attempt < 2; attempt += 1) {
    if (claimPidFile(file, self)) return () => releasePidFile(file, self.pid)
    const other = await findRunning(file)
    if (other) throw new StackFailure([`Trestle is already running here (process ${other.pid}). Stop that first.`])
    releasePidFile(file)
  }
  throw new StackFailure(['Another start of Trestle is under way here.'])
}

/** Ends the services that a killed stack left running: the processes in the pid files, if the pids still belong to them. */
async function endLeftoverServices(pidFiles: readonly string[], say: (line: string) => void): Promise<void> {
  await Promise.all(
    pidFiles.map(async (file) => {
      const record = await findRunning(file)
      if (record) {
        say(`Ending process ${record.pid} of an earlier start`)
        await endProcess(record.pid, leftoverSteps)
      }
      releasePidFile(file)
    }),
  )
}

const PARENT_POLL_MS = 500

/**
 * Returns a signal that is aborted by the first SIGINT, SIGTERM or SIGHUP. Later signals are ignored, because a Ctrl-C arrives
 * twice, from the terminal and from npm, and a stop takes at most five seconds. Under npm, the signal is also aborted if the
 * parent process has ended, because some shells between npm and this process do not forward signals.
 */
export function watchStopSignals({ isUnderNpm }: { readonly isUnderNpm: boolean }): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => controller.abort())
  if (isUnderNpm) {
    const parent = process.ppid
    const timer = setInterval(() => {
      if (process.ppid !== parent) controller.abort()
    }, PARENT_POLL_MS)
    timer.unref()
  }
  return controller.signal
}
