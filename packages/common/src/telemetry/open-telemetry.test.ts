import { once } from 'node:events'
import { connect } from 'node:net'
import { trace } from '@opentelemetry/api'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { pino } from 'pino'
import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import { HttpError } from '../errors/define-error.ts'
import type { ErrorVocabulary } from '../errors/error-handler.ts'
import { createServer } from '../server/create-server.ts'
import { startTracing } from './open-telemetry.ts'
import { braceRoute } from './path-of.ts'

const Attribute = z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) })
const Sent = z.object({
  resourceSpans: z.array(
    z.object({ scopeSpans: z.array(z.object({ spans: z.array(z.object({ attributes: z.array(Attribute) })) })) }),
  ),
})

const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_RESOURCE_ATTRIBUTES'] as const
afterEach(() => {
  for (const name of names) delete process.env[name]
})

const refuse = () => new HttpError(404, 'not_found', { message: 'Not found' })
const vocabulary: ErrorVocabulary = {
  envelope: ({ code }) => ({ code }),
  invalid: refuse,
  malformed: refuse,
  tooLarge: refuse,
  unsupportedMediaType: refuse,
  notFound: refuse,
  unavailable: refuse,
  busy: refuse,
  timedOut: refuse,
  unexpected: refuse,
  isUnavailable: () => false,
}

it('sends one span for each request, by route pattern, with the parameters and the version of the service', async () => {
  const sink = await startStubProvider(() => ({ body: {} }))
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = sink.url
  process.env.OTEL_RESOURCE_ATTRIBUTES = 'deployment.environment.name=test'
  const tracing = await startTracing({
    scrub: (text) => text.replace('card-4111', 'card-9999'),
    enabled: true,
    otlpProtocol: 'http/json',
    resource: { 'service.name': 'auth', 'auth.version': '9.8.7' },
  })
  const app = createServer({
    logger: pino({ level: 'silent' }),
    vocabulary,
    now: () => new Date(),
    bodyLimit: 10,
    handlerTimeoutMs: 1_000,
  })
  await tracing.instrument(app)
  const startChild = async () => {
    await new Promise(setImmediate)
    trace.getTracer('test').startSpan(`child of ${trace.getActiveSpan()?.spanContext().spanId}`).end()
    return 'ok'
  }
  app.get('/admin/users/:userId', startChild)
  app.post('/token', startChild)
  app.get('/invitations/:token', () => ({}))
  app.get('/mapped/*', (request) => {
    request.mappedRoute = {
      pattern: '/mapped/{itemId}/{token}',
      params: () => ({ itemId: '4712', token: 'secretive' }),
    }
    return {}
  })
  app.get('/failing', async () => {
    throw new Error('quotes a password')
  })
  const [begun, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  app.get('/abandoned', async ({ raw }) => {
    begun.resolve()
    await once(raw.socket, 'close')
    left.resolve()
  })
  await app.inject('/admin/users/4711?token=hush')
  await app.inject('/invitations/quiet')
  await app.inject('/nowhere/card-4111')
  await app.inject('/mapped/4712/secretive')
  await app.inject('/failing')
  // Use a real connection, because reading the body of an injected request does not leave the span.
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  await fetch(`${address}/token`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' })
  const client = connect(Number(new URL(address).port), '127.0.0.1')
  client.write('GET /abandoned HTTP/1.1\r\nHost: a\r\n\r\n')
  await begun.promise
  client.destroy()
  await left.promise
  await app.close()
  await tracing.close()
  await sink.close()

  expect(sink.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /v1/traces'])
  const sent = sink.requests[0]?.body ?? ''
  for (const text of [
    'http.method',
    'http.route',
    '/admin/users/{user_id}',
    'http.route.params.user_id',
    '4711',
    '4712',
    '/mapped/{item_id}/{token}',
  ]) {
    expect(sent).toContain(text)
  }
  for (const text of [
    'auth.version',
    '9.8.7',
    'service.name',
    'deployment.environment.name',
    'http.status_code',
    'noroute',
  ]) {
    expect(sent).toContain(text)
  }
  for (const secret of ['hush', 'quiet', 'card-4111', 'secretive', '/*']) expect(sent).not.toContain(secret)
  expect(sent).not.toContain('quotes a password')
  expect(attributesOf(sent, '/abandoned')).toEqual({
    'http.status_code': '499',
    'http.response.status_code': '499',
    'fastify.root': '@fastify/otel',
    'http.request.method': 'GET',
    'url.path': '/abandoned',
    'http.route': '/abandoned',
    'http.method': 'GET',
  })
  expect(sent.match(/child of [0-9a-f]{16}/g)).toHaveLength(2)
})

/** Returns the attributes of the span of a route, as text. */
function attributesOf(sent: string, route: string): Record<string, string> | undefined {
  const { resourceSpans } = Sent.parse(JSON.parse(sent))
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  return spans
    .map(({ attributes }) =>
      Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])])),
    )
    .find((attributes) => attributes['http.route'] === route)
}

it('writes parameters of routes in braces and snake_case', () => {
  expect(['/a/:someId/b/:c', '/a/{someId}', '/', undefined].map(braceRoute)).toEqual([
    '/a/{some_id}/b/{c}',
    '/a/{some_id}',
    '/',
    'noroute',
  ])
})
