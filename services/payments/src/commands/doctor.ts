import { createNoopMeter } from '@opentelemetry/api'
import { isDistributed } from '@trestle/citus/citus.ts'
import { isRebalancing, readState } from '@trestle/citus/notes.ts'
import { type Check, checkSettings, runChecks } from '@trestle/common/commands/run-checks.ts'
import { urlsOfHosts } from '@trestle/database/driver/hosts.ts'
import { connectOnce } from '@trestle/database/wait-for-database.ts'
import { listDeadLetterJobs } from '@trestle/jobs/list-jobs.ts'
import { commonChecks, compareClocks, expectHttps } from '@trestle/service/common-checks.ts'
import type { PaymentsConfig } from '../config.ts'
import { createMailer } from '../mail/mailer.ts'
import { listAcquirersBeside } from '../merchants/each-merchant.ts'
import { migrateOptions, tasks } from '../migrations.ts'
import { openPaymentsDatabase } from '../open-database.ts'
import { DecryptionError } from '../vault/encryption.ts'
import { createPanVault } from '../vault/pan-vault.ts'
import { findKeySamples } from '../vault/rotation-repository.ts'
import { listWebhooksWithoutTls } from '../webhooks/webhook-repository.ts'
import { createWebhookSecrets } from '../webhooks/webhook-secret.ts'
import { beforeMigrations, clusterChecks, distributionCheck, SERVERS } from './cluster-checks.ts'
import { moneyChecks } from './money-checks.ts'

interface Subject {
  readonly config: PaymentsConfig
  readonly database: ReturnType<typeof openPaymentsDatabase>
  readonly now: () => Date
}

const checks: readonly Check<Subject>[] = [
  {
    name: 'clock',
    advice: 'let both machines follow the same time source (NTP)',
    needs: ['database'],
    run: ({ database, now }) => compareClocks(database.db, now()),
  },
  {
    name: 'SMTP',
    advice: 'start the mail server, or correct PAYMENTS_SMTP_URL',
    run: async ({ config: { smtp } }) => {
      if (!smtp) return 'none, mails wait in the queue'
      const mailer = createMailer(smtp)
      try {
        await mailer.check()
        return 'answers'
      } finally {
        mailer.close()
      }
    },
  },
  {
    name: 'URLs',
    advice: 'put the service behind a TLS proxy and set its https address as PAYMENTS_BASE_URL',
    run: async ({ config }) => expectHttps(config.server.baseUrl),
  },
  {
    name: 'acquirers',
    advice: 'add them to PAYMENTS_ACQUIRERS, or give the merchants another: payments merchants acquirer <id> <name>',
    needs: ['database'],
    run: async ({ config: { acquirers }, database }) => {
      const names = acquirers.map(({ name }) => name)
      const missing = await listAcquirersBeside(database.db, names)
      if (missing.length > 0) throw new Error(`not set, and live merchants have them: ${missing}`)
      const reached = acquirers.map(
        ({ name, url }) => `${name} ${url.startsWith('https:') ? 'by TLS' : 'on this machine'}`,
      )
      return reached.length === 0 ? 'none, live merchants take no payments' : reached.join(', ')
    },
  },
  {
    name: 'vault keys',
    advice: 'give PAYMENTS_VAULT_KEYS back the keys that encrypted data, each under its id',
    needs: ['database', SERVERS],
    run: async ({ config, database }) => {
      const vault = createPanVault(config.vaultKeys, createNoopMeter())
      const secrets = createWebhookSecrets(config)
      const { cards, webhooks } = await findKeySamples(database.db)
      const shut = [
        ...cards.filter(({ encrypted, merchantId, id: instrumentId }) =>
          failsToOpen(() => vault.decrypt(encrypted, { merchantId, instrumentId }, 'rotation')),
        ),
        ...webhooks.filter(({ encrypted, merchantId }) => failsToOpen(() => secrets.decrypt(encrypted, merchantId))),
      ]
      const ids = [...new Set(shut.map(({ keyId }) => keyId))]
      if (ids.length > 0) throw new Error(`data encrypted with key ${ids.join(', ')} cannot be decrypted`)
      return 'decrypt what they have encrypted'
    },
  },
  {
    name: 'webhooks',
    advice: 'ask these merchants for https URLs, or set PAYMENTS_WEBHOOK_ALLOW_HTTP for test merchants',
    needs: ['database', SERVERS],
    run: async ({ config, database }) => {
      const ids = await listWebhooksWithoutTls(database.db, config.webhooks.allowHttp)
      if (ids.length === 0) return 'take events by the schemes that are allowed'
      throw new Error(`${ids.length} by http, which is not allowed, so nothing is sent: ${ids.slice(0, 20).join(', ')}`)
    },
  },
  ...moneyChecks,
  {
    name: 'dead jobs',
    advice: 'look at payments tasks list, mend the cause, then run: payments tasks retry <task>',
    needs: ['database'],
    run: async ({ database: { db, names } }) => {
      const dead = await listDeadLetterJobs({ db, schema: names.jobSchema, tasks })
      if (dead.length === 0) return 'none'
      throw new Error(dead.map(({ task, count, reason }) => `${count} of ${task} (${reason})`).join(', '))
    },
  },
]

const entryCheck: Check<Subject> = {
  name: 'entries',
  advice: 'start the server, or take it out of PAYMENTS_DATABASE_URL',
  run: async ({ config }) => {
    const urls = urlsOfHosts(config.database.url)
    for (const url of urls) {
      await connectOnce(url).catch((cause: unknown) => {
        throw new Error(`${new URL(url).host} does not answer`, { cause })
      })
    }
    return urls.length === 1 ? 'answers' : `all ${urls.length} answer`
  },
}

/** Checks everything that the service needs and prints a line for each check. Resolves to `false` if a check fails. */
export async function doctor(
  loadConfig: () => PaymentsConfig,
  print: (line: string) => void,
  now: () => Date,
): Promise<boolean> {
  const config = checkSettings(loadConfig, print)
  if (config === undefined) return false
  for (const warning of config.warnings) print(`note  ${warning}`)
  const { url, coordinatorUrl } = config.database
  const common = commonChecks({
    program: 'payments',
    logFile: config.server.logFile,
    database: {
      url: coordinatorUrl ?? url,
      setting: coordinatorUrl === undefined ? 'PAYMENTS_DATABASE_URL' : 'PAYMENTS_COORDINATOR_URL',
      prepared: config.database.prepared,
    },
    standby: { url: config.database.standby.url, setting: 'PAYMENTS_DB_READ_URL' },
    migrations: migrateOptions(config),
  })
  const database = openPaymentsDatabase(config, () => {})
  // Ignore a database that does not answer, because an earlier check reports it.
  const isOnCluster = await isDistributed(database.db, database.names).catch(() => false)
  const state = await readState(database.db.withoutPlugins(), database.names).catch(() => 'plain' as const)
  const isHealthy = await runChecks(
    [
      ...(isOnCluster || isRebalancing(state) ? beforeMigrations(common, distributionCheck(state)) : common),
      ...(coordinatorUrl === undefined ? [] : [entryCheck]),
      ...(isOnCluster ? clusterChecks : []),
      // Requests may enter through other servers of the cluster. These servers can answer even if the coordinator does not.
      ...(coordinatorUrl === undefined ? checks : checks.map(withoutCoordinator)),
    ],
    { config, database, now },
    print,
  )
  await database.close()
  return isHealthy
}

function failsToOpen(open: () => string): boolean {
  try {
    open()
    return false
  } catch (error) {
    if (error instanceof DecryptionError) return true
    throw error
  }
}

function withoutCoordinator({ needs = [], ...check }: Check<Subject>): Check<Subject> {
  return { ...check, needs: needs.filter((name) => name !== 'database') }
}
