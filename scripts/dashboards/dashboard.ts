import { parse } from 'yaml'
import { z } from 'zod'

const Panel = z.strictObject({
  title: z.string(),
  description: z.string().optional(),
  /** The unit in Grafana: `reqps`, `s`, `percentunit`, `ops`, `short`, `bytes`. */
  unit: z.string(),
  queries: z.record(z.string(), z.string()),
})
const Section = z.strictObject({ title: z.string(), panels: z.array(Panel) })
const Document = z.strictObject({
  common: z.record(z.string(), Section),
  dashboards: z.array(
    z.strictObject({
      uid: z.string(),
      title: z.string(),
      job: z.string().optional(),
      sections: z.array(z.union([z.string(), Section])),
    }),
  ),
})

/** A dashboard with its common sections expanded. */
interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly sections: readonly z.infer<typeof Section>[]
}

/** Reads dashboards in the format of `dashboards.yaml`. @throws Error for another format or an unknown common section */
export function readDashboards(text: string): readonly Dashboard[] {
  const { common, dashboards } = Document.parse(parse(text))
  return dashboards.map(({ uid, title, job = '', sections }) => {
    const written = sections.map((section) => {
      if (typeof section !== 'string') return section
      const found = common[section]
      if (found === undefined) throw new Error(`${uid} has no section ${section}`)
      return { ...found, panels: found.panels.map((panel) => ({ ...panel, queries: ofJob(panel.queries, job) })) }
    })
    return { uid, title, sections: written }
  })
}

function ofJob(queries: Readonly<Record<string, string>>, job: string): Record<string, string> {
  return Object.fromEntries(Object.entries(queries).map(([legend, expr]) => [legend, expr.replaceAll('$job', job)]))
}

const DATASOURCE = { type: 'prometheus', uid: 'prometheus' }
const COLUMNS = 3
const [WIDTH, HEIGHT] = [8, 8]

export function toGrafana({ uid, title, sections }: Dashboard): object {
  let id = 0
  let y = 0
  const panels = sections.flatMap((section) => {
    const row = { id: ++id, type: 'row', title: section.title, collapsed: false, gridPos: { x: 0, y, w: 24, h: 1 } }
    const graphs = section.panels.map((panel, i) => {
      const place = { x: (i % COLUMNS) * WIDTH, y: y + 1 + Math.floor(i / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT }
      return { id: ++id, ...toGraph(panel), gridPos: place }
    })
    y += 1 + Math.ceil(graphs.length / COLUMNS) * HEIGHT
    return [row, ...graphs]
  })
  return {
    uid,
    title,
    tags: ['trestle'],
    timezone: 'browser',
    schemaVersion: 39,
    refresh: '10s',
    time: { from: 'now-30m', to: 'now' },
    links: [{ type: 'dashboards', title: 'Trestle', tags: ['trestle'], asDropdown: false, keepTime: true }],
    panels,
  }
}

function toGraph({ title, description, unit, queries }: z.infer<typeof Panel>): object {
  return {
    type: 'timeseries',
    title,
    ...(description === undefined ? {} : { description }),
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: {
      legend: { displayMode: 'table', placement: 'bottom', calcs: ['lastNotNull', 'max'] },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
    targets: Object.entries(queries).map(([legend, expr], i) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + i),
      expr,
      legendFormat: legend,
    })),
  }
}
