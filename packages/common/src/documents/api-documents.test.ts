import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { fastify } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { apiDocuments } from './api-documents.ts'

const info = { title: 'Example', version: '1.2.3', description: 'An example.' }
removeFoldersAtEnd()

async function startApp(file: URL | undefined) {
  const app = fastify()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  await app.register(apiDocuments, { ...info, file })
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

it('200: serves the document of a file to clients, without indentation', async () => {
  const folder = createFolder()
  const file = join(folder, 'document.json')
  writeFileSync(file, JSON.stringify({ openapi: '3.1.0', info }, null, 2))
  await using app = await startApp(pathToFileURL(file))
  const answer = await app.inject('/openapi.json')
  expect([answer.statusCode, answer.headers['content-type'], answer.payload]).toEqual([
    200,
    'application/json; charset=utf-8',
    JSON.stringify({ openapi: '3.1.0', info }),
  ])
})

// ASVS 13.4.5
it('offers no pages to clients when the documents are off', async () => {
  await using app = await startApp(undefined)
  expect(app.documentPages).toBeUndefined()
})
