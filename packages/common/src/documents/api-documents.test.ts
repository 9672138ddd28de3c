import { fastify } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { apiDocuments } from './api-documents.ts'

const info = { title: 'Example', version: '1.2.3', description: 'An example.' }

function moduleOf(source: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(source)}`)
}

async function startApp(module: URL | undefined) {
  const app = fastify()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  await app.register(apiDocuments, { ...info, module })
  if (app.documentPages !== undefined) app.get('/openapi.json', app.documentPages.document)
  app.get('/things', { schema: { summary: 'List things' } }, async () => [])
  return app
}

it('lists each route in a document with the title and the version of the service', async () => {
  await using app = await startApp(undefined)
  await app.ready()
  expect(await app.describeApi()).toEqual({
    openapi: '3.1.0',
    info: { title: 'Example', version: '1.2.3', description: 'An example.' },
    paths: { '/things': { get: { summary: 'List things', responses: { 200: { description: 'Default Response' } } } } },
    components: { securitySchemes: {}, schemas: {} },
    security: [],
  })
})

it('says of a body whether a request needs it', async () => {
  await using app = await startApp(undefined)
  const body = z.object({ name: z.string() })
  app.put('/needed/:id', { schema: { body } }, async () => [])
  app.put('/optional/:id', { schema: { body: body.nullish() } }, async () => [])
  app.put('/checked/:id', { schema: { body: body.optional(), bodyRequired: true } }, async () => [])
  await app.ready()
  const { paths } = JSON.parse(JSON.stringify(await app.describeApi()))
  const required = ['needed', 'optional', 'checked'].map((name) => paths[`/${name}/{id}`].put.requestBody.required)
  expect(required).toEqual([true, false, true])
})

it('200: serves the document that a module makes in another process, without the settings of this process', async () => {
  const source = `
    setInterval(() => {}, 1_000)
    const settings = Object.keys(process.env).filter((name) => name !== 'NODE_COMPILE_CACHE')
    export const buildOpenApi = async () => ({ process: process.pid, settings })`
  await using app = await startApp(moduleOf(source))
  const answer = await app.inject('/openapi.json')
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  expect(answer.json()).toEqual({ process: expect.any(Number), settings: [] })
  expect(answer.json().process).not.toBe(process.pid)
})

it('500: answers when the module makes no document', async () => {
  await using app = await startApp(moduleOf('export const other = 1'))
  const answer = await app.inject('/openapi.json')
  expect([answer.statusCode, answer.json()]).toEqual([
    500,
    {
      statusCode: 500,
      code: '1',
      error: 'Internal Server Error',
      message: expect.stringMatching(/^Command failed: .*ZodError.*"buildOpenApi"/s),
    },
  ])
})

// ASVS 13.4.5
it('offers no pages to clients when the documents are off', async () => {
  await using app = await startApp(undefined)
  expect(app.documentPages).toBeUndefined()
})
