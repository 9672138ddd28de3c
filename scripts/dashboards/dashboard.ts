/** One query of a graph. */
export interface Query {
  /** PromQL. Grafana replaces `$__rate_interval` by a multiple of the scrape interval. */
  readonly expr: string
  /** `{{label}}` stands for a label's value. */
  readonly legend: string
}

/** A graph over time. */
export interface Panel {
  readonly title: string
  /** The meaning of an unusual graph. */
  readonly description?: string
  /** Grafana's name of the unit: `reqps`, `s`, `percentunit`, `ops`, `short`, `bytes`. */
  readonly unit: string
  readonly queries: readonly Query[]
}

/** Graphs that answer one question. */
export interface Section {
  readonly title: string
  readonly panels: readonly Panel[]
}

/** A dashboard, section by section. */
export interface Dashboard {
  /** Links lead to it, so it stays the same. Also the name of the file. */
  readonly uid: string
  readonly title: string
  readonly sections: readonly Section[]
}

const DATASOURCE = { type: 'prometheus', uid: 'prometheus' }
const COLUMNS = 3
const [WIDTH, HEIGHT] = [8, 8]

/** The JSON that Grafana loads. */
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

function toGraph({ title, description, unit, queries }: Panel): object {
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
    targets: queries.map(({ expr, legend }, i) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + i),
      expr,
      legendFormat: legend,
    })),
  }
}
