import fastify from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { apiDocuments } from './api-documents.ts'

const info = { title: 'Example', version: '1.0.0', description: 'Says hello.' }
let app = fastify()
afterEach(() => app.close())

async function open(ignoreTrailingSlash: boolean): Promise<void> {
  app = fastify({ routerOptions: { ignoreTrailingSlash } })
  await app.register(apiDocuments, info)
  app.get('/hello', async () => 'hello')
}

describe('apiDocuments', () => {
  it('200: describes the routes that follow, and none of its own', async () => {
    await open(false)
    const { openapi, paths } = (await app.inject('/openapi.json')).json()
    expect({ openapi, paths: Object.keys(paths) }).toEqual({ openapi: '3.1.0', paths: ['/hello'] })
  })

  it.each([true, false])('200: serves the pages from this host (slashes at the end ignored: %s)', async (isIgnored) => {
    await open(isIgnored)
    const redirect = await app.inject('/docs')
    expect([redirect.statusCode, redirect.headers.location]).toEqual([301, '/docs/'])
    const page = await app.inject('/docs/')
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(page.body).toContain('src="js/scalar.js"')
    const program = await app.inject('/docs/js/scalar.js')
    expect([program.statusCode, program.headers['content-type']]).toEqual([
      200,
      'application/javascript; charset=utf-8',
    ])
    expect(program.body.length).toBeGreaterThan(100_000)
  })

  it('404: has no other page', async () => {
    await open(false)
    expect((await app.inject('/docs/other')).statusCode).toBe(404)
  })
})
