import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import { runProgram } from '../../servers/run-program.ts'

export interface Prometheus {
  readonly url: string
  /** The values of an expression in a period, one per scrape. Omits series without a number. */
  series(expression: string, span: Span): Promise<readonly Series[]>
  /** The alerts that fire or are pending, as `name service`. */
  alerts(): Promise<ReadonlyMap<string, AlertState>>
  close(): Promise<void>
}

export interface Span {
  readonly start: Date
  readonly end: Date
}

export interface Series {
  readonly labels: Readonly<Record<string, string>>
  /** Milliseconds since 1970, and a value, possibly NaN or infinite. */
  readonly points: readonly (readonly [at: number, value: number])[]
}

/** `pending`: the expression holds, but not yet for long enough. */
export type AlertState = z.infer<typeof AlertState>

const AlertState = z.enum(['pending', 'firing'])

export interface PrometheusOptions {
  /** The folder with the committed configuration and rules. */
  readonly configFolder: string
  /** The folder for the data and the changed configuration. */
  readonly folder: string
  /** The port of the metrics of each service. */
  readonly ports: Readonly<Record<string, number>>
}

const PROMETHEUS = process.env.PROMETHEUS ?? 'prometheus'
const PROMTOOL = process.env.PROMTOOL ?? 'promtool'
/** How often Prometheus scrapes and evaluates. A scrape takes four seconds if the service's database is down. */
export const EVERY_SECONDS = 5
const START_MS = 30_000

/** Checks configuration and rules with promtool, and runs the tests of the rules. @throws Error with promtool's output */
export async function checkRules(configFolder: string): Promise<string> {
  const checked = await runProgram({
    program: PROMTOOL,
    args: ['check', 'config', join(configFolder, 'prometheus.yml')],
  })
  const tested = await runProgram({ program: PROMTOOL, args: ['test', 'rules', join(configFolder, 'rules.test.yml')] })
  return checked + tested
}

/**
 * Starts Prometheus on the committed configuration, with other addresses, shorter intervals, and shorter waits before alerts
 * fire.
 * @throws Error if Prometheus does not respond in time
 */
export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const { folder } = options
  mkdirSync(folder, { recursive: true })
  const config = adaptConfig(readFileSync(join(options.configFolder, 'prometheus.yml'), 'utf8'), options.ports)
  writeFileSync(join(folder, 'prometheus.yml'), config)
  writeFileSync(join(folder, 'rules.yml'), shorten(readFileSync(join(options.configFolder, 'rules.yml'), 'utf8')))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const args = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ]
  const child = spawn(PROMETHEUS, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(child, 'close')
  await Promise.race([
    waitUntilReady(url),
    ended.then(() => Promise.reject(new Error('Prometheus has ended; its output is above'))),
  ])
  return {
    url,
    series: async (expression, { start, end }) => {
      const range = { start: start.toISOString(), end: end.toISOString(), step: String(EVERY_SECONDS) }
      const { data } = Matrix.parse(await ask(`${url}/api/v1/query_range`, { query: expression, ...range }))
      return data.result.map(toSeries).filter(({ points }) => points.some(([, value]) => !Number.isNaN(value)))
    },
    alerts: async () => {
      const { data } = Alerts.parse(await ask(`${url}/api/v1/alerts`))
      const states = new Map<string, AlertState>()
      for (const { labels, state } of data.alerts) {
        const name = `${labels.alertname} ${labels.job}`
        if (states.get(name) !== 'firing') states.set(name, state)
      }
      return states
    },
    close: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function adaptConfig(text: string, ports: PrometheusOptions['ports']): string {
  return text
    .replace(/scrape_interval: \w+/, `scrape_interval: ${EVERY_SECONDS}s\n  evaluation_interval: ${EVERY_SECONDS}s`)
    .replace(
      /dns_sd_configs:\s+- \{ names: \[(\w+)[^}]*\}/g,
      (_all, name: string) => `static_configs: [{ targets: ['127.0.0.1:${ports[name]}'] }]`,
    )
}

/** Shortens the waits in rules: an alert fires if its expression holds at two evaluations. */
function shorten(rules: string): string {
  return rules.replaceAll(/for: \w+/g, `for: ${2 * EVERY_SECONDS}s`)
}

const MatrixSeries = z.object({
  metric: z.record(z.string(), z.string()),
  values: z.array(z.tuple([z.number(), z.string()])),
})
const Matrix = z.object({ data: z.object({ result: z.array(MatrixSeries) }) })
const Alerts = z.object({
  data: z.object({
    alerts: z.array(z.object({ state: AlertState, labels: z.object({ alertname: z.string(), job: z.string() }) })),
  }),
})

function toSeries({ metric, values }: z.infer<typeof MatrixSeries>): Series {
  return { labels: metric, points: values.map(([seconds, value]) => [seconds * 1_000, readValue(value)]) }
}

/** Prometheus writes infinity as `+Inf`. */
function readValue(text: string): number {
  return Number(text.replace('Inf', 'Infinity'))
}

async function ask(url: string, parameters: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const response = await fetch(`${url}?${new URLSearchParams(parameters)}`)
  if (!response.ok) throw new Error(`Prometheus answers ${response.status}: ${await response.text()}`)
  return response.json()
}

async function waitUntilReady(url: string): Promise<void> {
  const deadlineMs = performance.now() + START_MS
  while (performance.now() < deadlineMs) {
    const response = await fetch(`${url}/-/ready`).catch(() => undefined)
    if (response?.ok) return
    await delay(100)
  }
  throw new Error('Prometheus does not answer')
}
