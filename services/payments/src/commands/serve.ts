import { observeReadiness } from '@trestle/common/lifecycle/readiness.ts'
import { runServer, startLogged } from '@trestle/common/lifecycle/run-server.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { prepareDatabase } from '@trestle/service/prepare-database.ts'
import { buildApp } from '../app.ts'
import { startKeyUseWrites } from '../apps/app-key-repository.ts'
import type { PaymentsConfig } from '../config.ts'
import { createDeps, type ProcessDeps, type QueueDeps, type RowDeps } from '../deps.ts'
import { migrateOptions } from '../migrations.ts'
import { createPaymentsLog, openPaymentsTelemetry } from '../open-telemetry.ts'
import { findWrongEntry } from '../placement/placement.ts'
import { startAcquirerEvents } from '../use-cases/apply-acquirer-events.ts'
import { startCleanUp } from '../use-cases/clean-up.ts'
import { startDeliveries } from '../use-cases/deliver-event.ts'
import { startConfirmations } from '../use-cases/end-confirmations.ts'
import { watchLostAttempts } from '../use-cases/end-lost-attempts.ts'
import { startExpiry } from '../use-cases/expire-authorizations.ts'
import { startInquiries } from '../use-cases/inquire-attempt.ts'
import { startDailyPayouts } from '../use-cases/pay-out-merchants.ts'
import { startPayoutRuns } from '../use-cases/run-payouts.ts'
import { startInvitationMails } from '../use-cases/send-invitation.ts'
import { startRejectionMails } from '../use-cases/send-rejection.ts'
import { startSimulatedDisputes } from '../use-cases/simulate-dispute.ts'
import { startSnapshots } from '../use-cases/snapshot-accounts.ts'
import { startOperations } from '../use-cases/submit-operation.ts'

/** The time in milliseconds in which telemetry and the database must close after the jobs have stopped. */
const CLOSE_MS = 3_000

/**
 * Waits for the database, migrates, and serves until a signal ends the process.
 * @throws Error naming the log file if it cannot be written
 * @throws the error of a failed start, after it is logged
 */
export async function serve(config: PaymentsConfig, process: NodeJS.Process): Promise<void> {
  const log = createPaymentsLog(config)
  await startLogged(log, config, () => start(config, log, process))
}

async function start(config: PaymentsConfig, log: ServiceLogger, process: NodeJS.Process): Promise<void> {
  if (config.throwAwayKeys.length > 0) {
    log.logger.warn(
      { settings: config.throwAwayKeys },
      'keys made for this run only: what they protect is lost at its end',
    )
  }
  // Run both in parallel, because one loads libraries while the other waits for the database.
  const [telemetry] = await Promise.all([
    openPaymentsTelemetry(config),
    prepareDatabase({
      program: 'payments',
      url: config.database.coordinatorUrl ?? config.database.url,
      findProblem: () => findWrongEntry(config.database),
      prepared: config.database.prepared,
      connectTimeoutMs: config.database.connectTimeoutMs,
      migrations: migrateOptions(config),
      log,
      process,
    }),
  ])
  const deps = await createDeps(config, log, telemetry)
  observeReadiness(deps.meter, deps.readiness)
  const app = await buildApp(deps)
  const stopKeyUseWrites = startKeyUseWrites(deps.pools, deps.usedKeys, (error) =>
    log.logger.warn({ err: error }, 'use of keys was not written'),
  )
  const stopLostAttempts = watchLostAttempts(deps)
  await runServer({
    app,
    host: config.server.host,
    port: config.server.port,
    log,
    readiness: deps.readiness,
    start: async (answered) => {
      // Open the queue before the first request is answered, because requests send jobs.
      await deps.jobs.open(answered)
      const port = await deps.metrics.listen()
      if (port !== undefined) log.logger.info({ port }, 'metrics listening')
      await startWork(deps)
      await startCleanUp(deps)
    },
    stop: async (remainingMs) => {
      await Promise.all([stopKeyUseWrites(), stopLostAttempts(), stopWork(deps, remainingMs - CLOSE_MS)])
      await deps.close()
    },
    shutdownDelayMs: config.server.shutdownDelayMs,
    process,
  })
}

type WorkDeps = RowDeps &
  QueueDeps &
  Pick<ProcessDeps, 'config' | 'acquirers' | 'mailer' | 'webhooks'> &
  Pick<ProcessDeps, 'rateLimits' | 'logger' | 'meter' | 'now'>

/** Starts the background work of a process. The queue must be open. `serve` starts the clean-up afterwards. */
export async function startWork(deps: WorkDeps): Promise<void> {
  if (deps.mailer) {
    await startInvitationMails(deps, deps.mailer)
    await startRejectionMails(deps, deps.mailer)
  } else deps.logger.warn('no mail server is set: mails wait in the queue')
  await startOperations(deps)
  await startConfirmations(deps)
  await startInquiries(deps)
  await startAcquirerEvents(deps)
  await startDeliveries(deps)
  await startSimulatedDisputes(deps)
  await startExpiry(deps)
  await startDailyPayouts(deps)
  await startPayoutRuns(deps)
  await startSnapshots(deps)
  deps.outbox.start()
}

/** Stops the background work, and waits at most `withinMs` milliseconds for running jobs. */
export async function stopWork({ jobs, outbox }: QueueDeps, withinMs: number): Promise<void> {
  await outbox.stop()
  await jobs.close(withinMs)
}
