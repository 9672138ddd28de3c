import fastify from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { afterAll, expect, it } from 'vitest'
import { apiDocuments } from './api-documents.ts'

const app = fastify()
app.setValidatorCompiler(validatorCompiler)
app.setSerializerCompiler(serializerCompiler)
await app.register(apiDocuments, { title: 'Example', version: '1.2.3', description: 'An example.', served: true })
app.get('/things', { schema: { summary: 'List things' } }, async () => [])
afterAll(() => app.close())

it('describes the routes', async () => {
  expect((await app.inject('/openapi.json')).json()).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'Example', version: '1.2.3' },
    paths: { '/things': { get: { summary: 'List things' } } },
  })
})

// ASVS 13.4.5
it('404: describes the routes to nobody where the documents are switched off', async () => {
  const silent = fastify()
  await silent.register(apiDocuments, { title: 'Example', version: '1.2.3', description: 'An example.', served: false })
  for (const url of ['/openapi.json', '/docs', '/docs/', '/docs/js/scalar.js']) {
    expect([url, (await silent.inject(url)).statusCode]).toEqual([url, 404])
  }
  await silent.ready()
  expect(await silent.describeApi()).toMatchObject({ info: { title: 'Example' } })
  await silent.close()
})
