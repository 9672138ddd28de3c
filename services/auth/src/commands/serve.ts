import { observeReadiness } from '@trestle/common/lifecycle/readiness.ts'
import { runServer, startLogged } from '@trestle/common/lifecycle/run-server.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { prepareDatabase } from '@trestle/service/prepare-database.ts'
import { buildApp } from '../app.ts'
import type { AuthConfig } from '../config.ts'
import { type AuthDeps, createDeps } from '../deps.ts'
import { listCustomProviders } from '../external-providers/custom-provider-repository.ts'
import { warnOfSharedCallback } from '../external-providers/find-provider.ts'
import type { MessageRequestDeps } from '../message-requests/request-message.ts'
import { migrateOptions } from '../migrations.ts'
import { expectOwnSchema, fitToDatabase } from '../open-database.ts'
import { createAuthLog, observeProcess, openAuthTelemetry } from '../open-telemetry.ts'
import { runHashTasks } from '../passwords/password-hasher.ts'
import { startUserCreatedHookCalls } from '../use-cases/call-user-created-hook.ts'
import { startCleanUp } from '../use-cases/clean-up.ts'
import { startMails, startMessageRequests, startSms } from '../use-cases/send-messages.ts'

/** The time in milliseconds in which telemetry and the database must close after the jobs have stopped. */
const CLOSE_MS = 3_000

/** Waits for the database, migrates, and serves until a signal ends the process. */
export async function serve(config: AuthConfig, process: NodeJS.Process): Promise<void> {
  const log = createAuthLog(config)
  await startLogged(log, config, () => start(config, log, process))
}

async function start(config: AuthConfig, log: ServiceLogger, process: NodeJS.Process): Promise<void> {
  const { server } = config
  // Run both in parallel, because one loads libraries while the other waits for the database.
  const [telemetry] = await Promise.all([
    openAuthTelemetry(config),
    prepareDatabase({
      program: 'auth',
      url: config.database.url,
      prepared: config.database.prepared,
      connectTimeoutMs: config.database.connectTimeoutMs,
      migrations: migrateOptions(config),
      log,
      process,
    }),
  ])
  await expectOwnSchema(config)
  const opened = await createDeps(config, log, telemetry)
  const deps = { ...opened, config: await fitToDatabase(config, opened.database) }
  observeReadiness(deps.meter, deps.readiness)
  observeProcess(deps.meter)
  const [app] = await Promise.all([buildApp(deps), deps.signingKeys.load()])
  await runServer({
    app,
    host: server.host,
    port: server.port,
    log,
    readiness: deps.readiness,
    start: async (answered) => {
      // If threads cannot start, fail here instead of at every sign-in.
      await runHashTasks([])
      // Open the queue before the first request is read. Jobs of that request wait for it.
      await deps.jobs.open(answered)
      const port = await deps.metrics.listen()
      if (port !== undefined) log.logger.info({ port }, 'metrics listening')
      deps.signingKeys.startPolling((error) => log.logger.warn({ err: error }, 'signing keys could not be read'))
      const custom = await listCustomProviders(deps.db, undefined)
      for (const warning of warnOfSharedCallback(deps.config, custom)) log.logger.warn(warning)
      await startWork(deps)
      await startCleanUp(deps)
    },
    stop: async (remainingMs) => {
      deps.signingKeys.stopPolling()
      await stopWork(deps, remainingMs - CLOSE_MS)
      await deps.close()
    },
    shutdownDelayMs: server.shutdownDelayMs,
    process,
  })
}

type WorkDeps = MessageRequestDeps & Pick<AuthDeps, 'outbox' | 'hooks' | 'mailer' | 'sms'>

/** Starts the workers of the queue: message requests, mails, SMS, and calls of the hook AFTER_USER_CREATED. */
export async function startWork(deps: WorkDeps): Promise<void> {
  await startMessageRequests(deps)
  await startMails(deps)
  await startSms(deps)
  await startUserCreatedHookCalls(deps)
  deps.outbox.start()
}

/** Stops the background work, and waits at most `withinMs` milliseconds for running jobs. */
export async function stopWork({ jobs, outbox }: Pick<AuthDeps, 'jobs' | 'outbox'>, withinMs?: number): Promise<void> {
  await outbox.stop()
  await jobs.close(withinMs)
}
