import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSecrets } from '@trestle/stack/settings/secrets-file.ts'
import { services } from '@trestle/stack/settings/services.ts'
import { programEnvironment } from '@trestle/testing/command-server.ts'
import { createEmptyDatabase, prepared } from '@trestle/testing/temporary-database.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { ROOT } from '../../program.ts'
import { findDeployedEnvironment } from '../../servers/deployment.ts'
import { startServer } from '../../servers/server.ts'
import { METRICS_DOCUMENT, readMetricsDocument, undocumentedSeries } from './documented-metrics.ts'

const folder = mkdtempSync(join(tmpdir(), 'trestle-metrics-'))
const secrets = loadSecrets(join(folder, 'secrets.env'))
const document = readFileSync(join(ROOT, METRICS_DOCUMENT), 'utf8')
afterAll(() => rmSync(folder, { recursive: true }))

/** Series that must exist from the start, because alerts need them. */
const ALWAYS = {
  auth: [
    'service_ready{check="process"} 1',
    'service_ready{check="database"} 1',
    'service_ready{check="worker"} 1',
    'db_pool_connections{state="waiting"} 0',
    'jobs_queued{task="mail"} 0',
    'jobs_oldest_due_seconds{task="mail"} 0',
    'jobs_dead{task="mail"} 0',
    'jobs_outbox_oldest_seconds 0',
    'jobs_total{task="mail",outcome="dead"} 0',
    'auth_refresh_token_reuse_total{outcome="revoked"} 0',
    'auth_running 1',
  ],
  payments: [
    'service_ready{check="migrations"} 1',
    'jobs_dead{task="invitation_mail"} 0',
    'jobs_outbox_oldest_seconds 0',
    'payments_ledger_imbalance 0',
    'payments_ledger_verified_timestamp_seconds 0',
    'payments_attempts_unknown 0',
    'payments_acquirer_exceptions_open 0',
    'payments_auth_failures_total 0',
  ],
  inventory: [
    'service_ready{check="upkeep"} 1',
    'db_pool_connections{pool="transfers",state="waiting"} 0',
    'inventory_reservation_overdue_seconds 0',
    'inventory_movements_total{type="ship"} 0',
    'inventory_reservations_total{status="expired"} 0',
  ],
} as const

describe.each(['auth', 'payments', 'inventory'] as const)('the metrics of %s', (service) => {
  it('exist from the start, and are the metrics of the document', async () => {
    const database = await createEmptyDatabase()
    const server = await start(service, database.url)
    await fetch(`${server.url}/nothing`)
    const printed = await (await fetch(server.metricsUrl)).text()
    await server.stop()
    await database.drop()
    const lines = new Set(printed.split('\n'))
    expect(ALWAYS[service].filter((line) => !lines.has(line))).toEqual([])
    expect(printed).toContain('http_server_request_duration_seconds_count')
    expect(undocumentedSeries(printed, { document, service })).toEqual([])
    for (const { name, owner } of readMetricsDocument(document)) {
      if (owner === 'the process') expect(printed).toContain(`# TYPE ${name} `)
    }
  })
})

/**
 * Starts a process on an empty database and migrates it. Without `warm-up` and `migrate` in separate processes, as in a
 * deployment, the start takes half the processor time.
 */
async function start(name: keyof typeof ALWAYS, databaseUrl: string) {
  const definition = services.find((service) => service.name === name) ?? expect.fail(`there is no service ${name}`)
  const { prefix, portSetting } = definition
  const env = await findDeployedEnvironment(definition, {
    databaseUrl,
    env: { [`${prefix}DB_PREPARED`]: String(prepared) },
    secrets,
    cache: programEnvironment.NODE_COMPILE_CACHE,
  })
  const server = await startServer({
    name,
    args: [join(ROOT, 'services', name, 'src', 'main.ts'), 'serve'],
    env,
    cwd: folder,
    cores: undefined,
    url: `http://127.0.0.1:${env[portSetting]}`,
    signs: ['/ready'],
    pollMs: 50,
  })
  return { ...server, metricsUrl: `http://127.0.0.1:${env[`${prefix}OTEL_EXPORTER_PROMETHEUS_PORT`]}/` }
}

it('names a printed metric that the document lacks', () => {
  const rows =
    '### Metrics of shop\n\n| `a_total` | counter | `kind` | a |\n| `b_seconds` | histogram | | b |\n## Other\n'
  const printed = '# HELP a_total x\na_total{kind="1"} 1\na_total{id="1",kind="2"} 1\nb_seconds_bucket{le="1"} 0\nc 1\n'
  const strange = (service: string) => undocumentedSeries(printed, { document: rows, service })
  expect(strange('shop')).toEqual(['a_total{id,kind}', 'c{}'])
  expect(strange('bank')).toEqual(['a_total{kind}', 'a_total{id,kind}', 'b_seconds_bucket{le}', 'c{}'])
})
