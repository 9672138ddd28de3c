import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { drawAlerts } from './draw-alerts.ts'
import { drawDashboard, type Graph, type Line } from './draw-dashboard.ts'
import type { Fault } from './fault.ts'
import type { Prometheus, Series, Span } from './prometheus.ts'
import { ROOT } from './stage.ts'

const FOLDER = join(ROOT, 'docs', 'observability')
/** The most panels of a picture. */
const PANELS_MAX = 6
/** Units of the panels that move under a healthy load: rates and durations. */
const LIVELY_UNITS: readonly string[] = ['reqps', 's']
/** The interval that Grafana would choose for a graph of some seconds. */
const RATE_INTERVAL = '30s'

const Panel = z.object({
  title: z.string(),
  targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).default([]),
  fieldConfig: z.object({ defaults: z.object({ unit: z.string() }) }).optional(),
})
const Dashboard = z.object({ uid: z.string(), title: z.string(), panels: z.array(Panel) })

/** A committed dashboard with expressions that Prometheus itself understands. */
export type Dashboard = z.infer<typeof Dashboard>

/** The dashboards that Grafana is given. */
export function readDashboards(): readonly Dashboard[] {
  const folder = join(ROOT, 'deploy', 'docker', 'grafana', 'dashboards')
  return globSync('*.json', { cwd: folder })
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').replaceAll('$__rate_interval', RATE_INTERVAL))
    .map((text) => Dashboard.parse(JSON.parse(text)))
}

/** Draws the graphs of each dashboard that move under a healthy load into docs/observability. */
export async function pictureDashboards(prometheus: Pick<Prometheus, 'series'>, span: Span): Promise<void> {
  for (const { uid, title, panels } of readDashboards()) {
    const lively = panels.filter(({ fieldConfig }) => LIVELY_UNITS.includes(fieldConfig?.defaults.unit ?? ''))
    const graphs = await Promise.all(lively.slice(0, PANELS_MAX).map((panel) => graphOf(panel, { prometheus, span })))
    savePicture(uid, drawDashboard(title, graphs))
  }
}

/** Draws a row for each alert of the faults into docs/observability, with a bar while it fired. */
export async function pictureAlerts(
  prometheus: Pick<Prometheus, 'series'>,
  faults: readonly Pick<Fault, 'alert' | 'job'>[],
  span: Span,
): Promise<void> {
  const fired = await prometheus.series('max by (alertname, job) (ALERTS{alertstate="firing"})', span)
  const firings = faults.map(({ alert, job }) => {
    const series = fired.find(({ labels }) => labels.alertname === alert && labels.job === job)
    return { alert, times: series?.points.map(([at]) => at) ?? [] }
  })
  savePicture('alerts', drawAlerts('Alerts', firings, [span.start.getTime(), span.end.getTime()]))
}

async function graphOf(
  { title, targets, fieldConfig }: z.infer<typeof Panel>,
  { prometheus, span }: { readonly prometheus: Pick<Prometheus, 'series'>; readonly span: Span },
): Promise<Graph> {
  const lines = await Promise.all(
    targets.map(async ({ expr, legendFormat }) =>
      (await prometheus.series(expr, span)).map((series) => toLine(series, legendFormat)),
    ),
  )
  return { title, unit: fieldConfig?.defaults.unit ?? '', lines: lines.flat() }
}

/** `{{label}}` of a legend stands for a label's value. */
function toLine({ labels, points }: Series, legendFormat: string): Line {
  return { name: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_all, label: string) => labels[label] ?? ''), points }
}

function savePicture(name: string, svg: string): void {
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, `${name}.svg`), svg)
}
