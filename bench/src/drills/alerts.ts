import { globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Argument, Command } from 'commander'
import { z } from 'zod'
import { createBenchFolder, positiveInteger, ROOT, runCommand, say } from '../program.ts'
import { undocumentedSeries } from './alerts/documented-metrics.ts'
import { drill, type Ending, type Fault, type Rig } from './alerts/fault.ts'
import { moneyAndSessionFaults, serviceFaults, workFaults } from './alerts/faults.ts'
import { createFixture, type Fixture, SERVICES } from './alerts/fixture.ts'
import { type Load, startLoad } from './alerts/load.ts'
import { checkRules, type Prometheus, type Span, startPrometheus } from './alerts/prometheus.ts'

const CONFIG_FOLDER = join(ROOT, 'deploy', 'docker', 'prometheus')
const faults: readonly Fault[] = [...moneyAndSessionFaults, ...workFaults, ...serviceFaults]

const problems: string[] = []
const stop = new AbortController()
// PostgreSQL has its own process group and does not get these signals. The drill ends everything in order.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => stop.abort(new Error(`ended by ${signal}`)))
}
const command = new Command('node bench/src/drills/alerts.ts')
  .description(
    'Loads the services under Prometheus, asks every query of the dashboards, and plants the fault of each alert.',
  )
  .addArgument(
    new Argument('[alerts...]', 'plant the faults of these alone, and leave the dashboards out').choices(
      faults.map(({ alert }) => alert),
    ),
  )
  .option('--seconds <number>', 'how long the load lasts before the first fault', positiveInteger, 300)
  .option('--rate <number>', 'actions a second on each service', positiveInteger, 15)
  .action(run)
await runCommand(command)
for (const problem of problems) say(`FAIL  ${problem}`)
if (problems.length > 0) process.exitCode = 1

async function run(
  alerts: readonly string[],
  { seconds, rate }: { readonly seconds: number; readonly rate: number },
): Promise<void> {
  say((await checkRules(CONFIG_FOLDER)).trim())
  problems.push(...findUntriedAlerts().map((alert) => `no fault is known for ${alert}`))
  const folder = createBenchFolder()
  try {
    await using started = new AsyncDisposableStack()
    const fixture = await createFixture(folder, started)
    const ports = Object.fromEntries(SERVICES.map((name) => [name, fixture[name].metricsPort]))
    const prometheus = await startPrometheus({ configFolder: CONFIG_FOLDER, folder: join(folder, 'prometheus'), ports })
    started.defer(prometheus.close)
    await fixture.payments.command('ledger', 'verify')
    const load = await startLoad(fixture, started, rate)
    started.defer(load.stop)
    await delay(seconds * 1_000, undefined, { signal: stop.signal })
    const loaded = new Date()
    printLoad(load)
    if (alerts.length === 0) await checkAfterLoad(fixture, prometheus, lastSeconds(seconds, loaded))
    await plantAll(alerts, { fixture, prometheus, say, stop: stop.signal })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function lastSeconds(seconds: number, end: Date): Span {
  return { start: new Date(end.getTime() - seconds * 1_000), end }
}

function printLoad(load: Load): void {
  for (const [name, statuses] of Object.entries(load.take())) {
    const list = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status} × ${count}`)
    say(`${name}: ${list.join(', ')}`)
    if ([...statuses.keys()].some((status) => status === 0 || status >= 500))
      problems.push(`${name} failed under plain load`)
  }
}

/** Checks the state after a plain load: every query has data, every series is documented, no alert fires. */
async function checkAfterLoad(fixture: Fixture, prometheus: Prometheus, span: Span): Promise<void> {
  for (const dashboard of readDashboards()) {
    const { count, empty } = await findEmptyQueries(dashboard, { prometheus, span })
    say(`${dashboard.title}: ${count - empty.length} of ${count} queries have data`)
    problems.push(...empty.map((query) => `no data: ${query}`))
  }
  const document = readFileSync(join(ROOT, 'docs', 'observability.md'), 'utf8')
  for (const service of SERVICES) {
    const printed = await (await fetch(`http://127.0.0.1:${fixture[service].metricsPort}/metrics`)).text()
    const strange = undocumentedSeries(printed, { document, service })
    problems.push(...strange.map((series) => `${service} prints ${series}, which docs/observability.md does not know`))
  }
  const firing = [...(await prometheus.alerts())].filter(([, state]) => state === 'firing')
  problems.push(...firing.map(([alert]) => `fires without a fault: ${alert}`))
}

/** The alerts for which the drill has no fault. */
function findUntriedAlerts(): readonly string[] {
  const rules = readFileSync(join(CONFIG_FOLDER, 'rules.yml'), 'utf8')
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, alert = '']) => alert)
  return alerts.filter((name) => !faults.some(({ alert }) => alert === name))
}

async function plantAll(alerts: readonly string[], rig: Rig): Promise<void> {
  const endings: { readonly alert: string; readonly end: Ending }[] = []
  for (const fault of faults.filter(({ alert }) => alerts.length === 0 || alerts.includes(alert))) {
    await tryAlert(fault.alert, async () => {
      endings.push({ alert: fault.alert, end: await drill(fault, rig) })
    })
  }
  for (const { alert, end } of endings) await tryAlert(alert, end)
}

/** Turns an error into a problem of the run, so that the other alerts are still tried. */
async function tryAlert(alert: string, attempt: () => Promise<void>): Promise<void> {
  try {
    await attempt()
  } catch (error) {
    stop.signal.throwIfAborted()
    const problem = `${alert} ${error instanceof Error ? error.message : error}`
    say(problem)
    problems.push(problem)
  }
}

/** The interval that Grafana would choose for a graph of a few seconds. */
const RATE_INTERVAL = '30s'
const Panel = z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) })
const Dashboard = z.object({ title: z.string(), panels: z.array(Panel) })

/** The committed dashboards, with expressions that Prometheus understands. */
function readDashboards(): readonly z.infer<typeof Dashboard>[] {
  const folder = join(ROOT, 'deploy', 'docker', 'grafana', 'dashboards')
  return globSync('*.json', { cwd: folder })
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').replaceAll('$__rate_interval', RATE_INTERVAL))
    .map((text) => Dashboard.parse(JSON.parse(text)))
}

/** Runs every query of a dashboard for a period. Returns the number of queries, and those without a sample. */
async function findEmptyQueries(
  { title, panels }: z.infer<typeof Dashboard>,
  { prometheus, span }: { readonly prometheus: Prometheus; readonly span: Span },
): Promise<{ readonly count: number; readonly empty: readonly string[] }> {
  const empty: string[] = []
  let count = 0
  for (const panel of panels) {
    for (const { expr } of panel.targets) {
      count += 1
      if ((await prometheus.series(expr, span)).length === 0) empty.push(`${title}, ${panel.title}: ${expr}`)
    }
  }
  return { count, empty }
}
