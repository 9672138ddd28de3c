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
})
