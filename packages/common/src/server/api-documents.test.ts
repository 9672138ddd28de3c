import { hash } from 'node:crypto'
import fastify from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { afterAll, expect, it } from 'vitest'
import { apiDocuments } from './api-documents.ts'

const app = fastify()
app.setValidatorCompiler(validatorCompiler)
app.setSerializerCompiler(serializerCompiler)
await app.register(apiDocuments, { title: 'Example', version: '1.2.3', description: 'An example.' })
app.get('/things', { schema: { summary: 'List things' } }, async () => [])
afterAll(() => app.close())

it('describes the routes', async () => {
  expect((await app.inject('/openapi.json')).json()).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'Example', version: '1.2.3' },
    paths: { '/things': { get: { summary: 'List things' } } },
  })
})

it('serves a page that may run its own scripts alone and reach no other host', async () => {
  const page = await app.inject('/docs/')
  expect(page.statusCode).toBe(200)
  const inline = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(page.payload)?.[1] ?? ''
  expect(inline).toContain('/openapi.json')
  const policy = String(page.headers['content-security-policy'])
  expect(policy).toContain(`script-src 'self' 'sha256-${hash('sha256', inline, 'base64')}';`)
  expect(policy).toMatch(/^default-src 'none'; /)
  expect(policy + page.payload).not.toMatch(/https?:\/\//)
  const script = await app.inject('/docs/js/scalar.js')
  expect([script.statusCode, script.headers['content-type']]).toEqual([200, 'application/javascript; charset=utf-8'])
})
