import { runServer } from '@trestle/common/lifecycle/run-server.ts'
import { createLogger, type ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { createMetrics, type Metrics } from '@trestle/common/telemetry/metrics.ts'
import { startTracing } from '@trestle/common/telemetry/tracing.ts'
import { observeJobs } from '@trestle/jobs/observe-jobs.ts'
import { observeOutbox } from '@trestle/jobs/observe-outbox.ts'
import { observeConnections } from '@trestle/service/observe-connections.ts'
import { observeReadiness } from '@trestle/service/observe-readiness.ts'
import { prepareDatabase } from '@trestle/service/prepare-database.ts'
import { buildApp } from '../app.ts'
import type { AuthConfig } from '../config.ts'
import { type AuthDeps, createDeps, type OpenDeps } from '../deps.ts'
import { type UserCreatedDeps, workOnUsersCreated } from '../hooks/user-created-job.ts'
import { type AnswerDeps, workOnMessageRequests } from '../message-requests/message-request-job.ts'
import { type MailWorkDeps, workOnMails } from '../messages/mail-job.ts'
import { type SmsWorkDeps, workOnSms } from '../messages/sms-job.ts'
import { migrateOptions, tasks } from '../migrations.ts'
import { runHashTasks } from '../passwords/hash-threads.ts'
import { CLEAN_UP_CRON, cleanUpTask, createCleanUp, createCleanUpCounter } from '../use-cases/clean-up.ts'
import { VERSION } from '../version.ts'

/** The time in milliseconds that telemetry and the database have to close, after the jobs. */
const CLOSE_MS = 3_000

/** Waits for the database, migrates, and serves until a signal ends the process. */
export async function serve(config: AuthConfig, process: NodeJS.Process): Promise<void> {
  const log = createLogger({
    level: config.server.logLevel,
    file: config.server.logFile,
    base: { component: 'api' },
  })
  try {
    for (const warning of config.warnings) log.logger.warn(warning)
    await start(config, log, process)
  } catch (error) {
    log.logger.fatal({ err: error }, 'start failed')
    await log.flush()
    throw error
  }
}

async function start(config: AuthConfig, log: ServiceLogger, process: NodeJS.Process): Promise<void> {
  const { server } = config
  const resource = { 'service.name': server.serviceName, 'service.version': VERSION, 'auth.version': VERSION }
  // At the same time: one waits for the database, the others load libraries.
  const [metrics, tracing] = await Promise.all([
    createMetrics({
      enabled: server.metricsEnabled,
      exporter: server.metricsExporter,
      otlpProtocol: server.otlpProtocol,
      host: server.metricsHost,
      port: server.metricsPort,
      resource,
    }),
    startTracing({ enabled: server.tracingEnabled, otlpProtocol: server.otlpProtocol, resource }),
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
  const open = await createDeps(config, { logger: log.logger, meter: metrics.meter, tracing })
  const { deps } = open
  const [app] = await Promise.all([buildApp(deps), deps.signingKeys.load()])
  observe(metrics, open)
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
      const port = await metrics.listen()
      if (port !== undefined) log.logger.info({ port }, 'metrics listening')
      deps.signingKeys.startPolling((error) => log.logger.warn({ err: error }, 'signing keys could not be read'))
      await startJobs(deps)
    },
    stop: async (remainingMs) => {
      deps.signingKeys.stopPolling()
      await deps.outbox.stop()
      await deps.jobs.close(remainingMs - CLOSE_MS)
      await Promise.all([metrics.close(), tracing.close()])
      await open.close()
    },
    shutdownDelayMs: server.shutdownDelayMs,
    process,
  })
}

async function startJobs(deps: WorkDeps & Pick<AuthDeps, 'config' | 'meter'>): Promise<void> {
  await startWork(deps)
  if (!deps.config.database.cleanupEnabled) return
  await deps.jobs.work(cleanUpTask, createCleanUp(deps, createCleanUpCounter(deps)))
  await deps.jobs.schedule(cleanUpTask, CLEAN_UP_CRON)
}

/** What the background work of all tasks works with. */
export type WorkDeps = Pick<AuthDeps, 'outbox'> & AnswerDeps & MailWorkDeps & SmsWorkDeps & UserCreatedDeps

/** Starts to work on what requests queue: requests for messages, mails, SMS, and calls of the hook AFTER_USER_CREATED. */
export async function startWork(deps: WorkDeps): Promise<void> {
  deps.outbox.start()
  await workOnMessageRequests(deps)
  await workOnMails(deps)
  await workOnSms(deps)
  await workOnUsersCreated(deps)
}

function observe({ meter }: Metrics, { database, deps }: OpenDeps): void {
  observeConnections(meter, database)
  observeReadiness(meter, deps.readiness)
  observeJobs(meter, { db: deps.db, schema: deps.names.jobSchema, tasks })
  observeOutbox(meter, { db: deps.db, writtenAt: 'created_at' })
  const running = meter.createObservableGauge('auth_running', { description: '1 while the process serves' })
  running.addCallback((result) => result.observe(1))
  const version = meter.createObservableGauge('auth_version_info', { description: 'The build version' })
  version.addCallback((result) => result.observe(1, { version: VERSION }))
}
