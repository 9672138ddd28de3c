import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Prometheus } from './prometheus.ts'
import { ROOT } from './stage.ts'

const Dashboard = z.object({
  uid: z.string(),
  title: z.string(),
  panels: z.array(
    z.object({
      title: z.string(),
      targets: z.array(z.object({ expr: z.string() })).default([]),
      fieldConfig: z.object({ defaults: z.object({ unit: z.string() }) }).optional(),
    }),
  ),
})

/** A committed dashboard with expressions that Prometheus itself understands. */
export type Dashboard = z.infer<typeof Dashboard>

/** What Grafana would choose for looks of some seconds. */
const RATE_INTERVAL = '30s'

/** The dashboards that Grafana is given. */
export function readDashboards(): readonly Dashboard[] {
  const folder = join(ROOT, 'docker', 'grafana', 'dashboards')
  return globSync('*.json', { cwd: folder })
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').replaceAll('$__rate_interval', RATE_INTERVAL))
    .map((text) => Dashboard.parse(JSON.parse(text)))
}

/** Its graphs that have a shape where all is well: of requests, and of how long something took. */
export function livelyPart({ uid, panels }: Dashboard): Pick<Dashboard, 'uid' | 'panels'> {
  return { uid, panels: panels.filter(({ fieldConfig }) => LIVELY_UNITS.includes(fieldConfig?.defaults.unit ?? '')) }
}

const LIVELY_UNITS: readonly string[] = ['reqps', 's']

/** Asks every query of a dashboard for the last seconds; answers those that no sample came of, and how many there are. */
export async function findEmptyQueries(
  { title, panels }: Dashboard,
  { prometheus, lastSeconds }: { readonly prometheus: Prometheus; readonly lastSeconds: number },
): Promise<{ readonly count: number; readonly empty: readonly string[] }> {
  const empty: string[] = []
  let count = 0
  for (const panel of panels) {
    for (const { expr } of panel.targets) {
      count += 1
      if ((await prometheus.countSeries(expr, lastSeconds)) === 0) empty.push(`${title}, ${panel.title}: ${expr}`)
    }
  }
  return { count, empty }
}
