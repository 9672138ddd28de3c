import { createServer, type Http2Server } from 'node:http2'
import { portOf } from '@trestle/testing/free-port.ts'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterEach, expect, it } from 'vitest'
import { createMetrics } from './metrics.ts'
import { createSpanExporter } from './otlp-exporters.ts'

const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_RESOURCE_ATTRIBUTES'] as const
afterEach(() => {
  for (const name of names) delete process.env[name]
})

const pushOnce = async (otlpProtocol: 'http/protobuf' | 'http/json' | 'grpc') => {
  const metrics = await createMetrics({
    enabled: true,
    exporter: 'opentelemetry',
    otlpProtocol,
    host: '',
    port: 0,
    resource: { 'service.name': 'auth' },
  })
  metrics.meter.createCounter('things_total').add(1)
  await metrics.close()
}

it.each([
  ['http/protobuf', 'application/x-protobuf'],
  ['http/json', 'application/json'],
] as const)('pushes metrics by %s, with the headers and resource of the environment', async (protocol, contentType) => {
  const sink = await startStubProvider(() => ({ body: {} }))
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = sink.url
  process.env.OTEL_EXPORTER_OTLP_HEADERS = 'x-tenant=acme'
  process.env.OTEL_RESOURCE_ATTRIBUTES = 'deployment.environment.name=test'
  await pushOnce(protocol)
  await sink.close()
  expect(sink.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /v1/metrics'])
  const [request] = sink.requests
  expect([request?.headers['content-type'], request?.headers['x-tenant']]).toEqual([contentType, 'acme'])
  for (const text of ['things_total', 'service.name', 'deployment.environment.name']) {
    expect(request?.body).toContain(text)
  }
})

it('pushes metrics and spans by grpc', async () => {
  const paths: (string | undefined)[] = []
  const sink = await listen(
    createServer((request, response) => {
      paths.push(request.url)
      request.resume()
      response.writeHead(200, { 'content-type': 'application/grpc' })
      response.addTrailers({ 'grpc-status': '0' })
      // An empty gRPC message: not compressed, with length 0.
      response.end(Buffer.alloc(5))
    }),
  )
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${sink.port}`
  await pushOnce('grpc')
  const spans = await createSpanExporter('grpc')
  await new Promise((resolve) => spans.export([], resolve))
  await spans.shutdown()
  await sink.close()
  expect(paths).toEqual([
    '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
    '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  ])
})

async function listen(server: Http2Server): Promise<{ readonly port: number; close(): Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: portOf(server), close: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}
