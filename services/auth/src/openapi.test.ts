import { describe, expect, it } from 'vitest'
import { buildOpenApi } from './openapi.ts'

describe('buildOpenApi', () => {
  it('describes every route, from the schemas alone', async () => {
    const document = JSON.parse(JSON.stringify(await buildOpenApi()))
    expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'Trestle auth' } })
    expect(Object.keys(document.paths['/verify'])).toEqual(['get', 'post'])
    expect(document.paths['/signup'].post.security).toEqual([])
    expect(document.paths['/user'].get.security).toBeUndefined()
    expect(document.security).toEqual([{ bearer: [] }])
  })

  it('says of every route how it refuses', async () => {
    const { paths } = JSON.parse(JSON.stringify(await buildOpenApi()))
    const operations = Object.entries<Record<string, { responses: object }>>(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { responses }]) => [`${method} ${path}`, Object.keys(responses)] as const),
    )
    expect(operations.filter(([, statuses]) => !statuses.some((status) => status.startsWith('4')))).toEqual([])
  })

  it('describes both forms of an error, and that a link sends its browser on', async () => {
    const { components, paths } = JSON.parse(JSON.stringify(await buildOpenApi()))
    expect(Object.keys(components.schemas)).toEqual(['AuthError'])
    expect(components.schemas.AuthError.anyOf).toMatchObject([
      { required: ['code', 'error_code', 'msg'] },
      { required: ['code', 'message'] },
    ])
    expect(paths['/verify'].get.responses).toMatchObject({
      200: { content: { 'text/html': {} } },
      303: {},
      '4XX': { content: { 'application/json': { schema: { $ref: '#/components/schemas/AuthError' } } } },
    })
  })
})
