// Sends the load of a file and prints its result: `node autocannon-run.ts FILE`. It is a separate process, so that it can be
// pinned to a core.
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'
import { z } from 'zod'
import { percentileOf } from '../../statistics.ts'
import { Load } from '../load.ts'

const file = process.argv[2]
if (file === undefined) throw new Error('no file')
const Run = z.object({ url: z.url(), load: Load, seconds: z.int() })
const { url, load, seconds } = Run.parse(JSON.parse(readFileSync(file, 'utf8')))

const isFixed = !/\{(token|id|sequence)\}/.test(JSON.stringify(load))
const tokens = [...(load.tokens ?? [])]
let sequence = Date.now() * 1_000

/** Returns the tokens in turn. In a chained load, the next token of the answer replaces each token. */
function nextToken(): string {
  const token = tokens.shift() ?? ''
  if (load.chain === undefined && token !== '') tokens.push(token)
  return token
}

function fillRequest(request: autocannon.Request): autocannon.Request {
  const token = nextToken()
  const fill = (text: string) =>
    text
      .replaceAll('{token}', token)
      .replaceAll('{id}', () => String(1 + Math.floor(Math.random() * (load.idMax ?? 1))))
      .replaceAll('{sequence}', () => String(++sequence))
  const headers = Object.entries(request.headers ?? {}).map(([name, value]) => [name, fill(String(value))])
  return {
    ...request,
    path: fill(load.path),
    headers: Object.fromEntries(headers),
    ...(load.body !== undefined && { body: fill(load.body) }),
  }
}

function takeToken(body: string): void {
  const token = new RegExp(`"${load.chain}"\\s*:\\s*"([^"]+)"`).exec(body)?.[1]
  if (token !== undefined) tokens.push(token)
}

/** The first eighth of the time does not count, because connections open and this program is not compiled yet. */
const settlingMs = (seconds * 1_000) / 8
const latenciesMs: number[] = []
const options: autocannon.Options = {
  url,
  connections: load.connections,
  duration: seconds,
  // autocannon has no pause between the requests of a connection, only a rate for all connections together.
  ...(load.pauseMs !== undefined && { overallRate: Math.round((load.connections * 1_000) / load.pauseMs) }),
  requests: [
    {
      method: load.method,
      path: load.path,
      headers: { ...(load.body !== undefined && { 'content-type': 'application/json' }), ...load.headers },
      ...(load.body !== undefined && { body: load.body }),
      ...(!isFixed && { setupRequest: fillRequest }),
      ...(load.chain !== undefined && { onResponse: (_status: number, body: string) => takeToken(body) }),
    },
  ],
}
const startMs = performance.now()
const result = await new Promise<autocannon.Result>((resolve, reject) => {
  const run = autocannon(options, (error, ended) => (error ? reject(error) : resolve(ended)))
  // Compute percentiles here, because those of autocannon are whole milliseconds.
  run.on('response', (_client, _status, _bytes, latencyMs) => {
    if (performance.now() - startMs >= settlingMs) latenciesMs.push(latencyMs)
  })
})
process.stdout.write(
  JSON.stringify({
    requestsPerSecond: latenciesMs.length / (result.duration - settlingMs / 1_000),
    p50Ms: percentileOf(latenciesMs, 0.5),
    p99Ms: percentileOf(latenciesMs, 0.99),
    errors: result.non2xx + result.errors + result.timeouts,
  }),
)
