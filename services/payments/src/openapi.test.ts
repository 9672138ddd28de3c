import { describe, expect, it } from 'vitest'
import { buildOpenApi } from './openapi.ts'

describe('buildOpenApi', () => {
  it('describes every route with its refusals, from the schemas alone', async () => {
    const document = JSON.parse(JSON.stringify(await buildOpenApi()))
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'Trestle payments' },
      components: { securitySchemes: { key: { type: 'http', scheme: 'basic' } } },
      security: [{ key: [] }, { person: [] }],
    })
    expect(document.paths['/apps'].post.security).toEqual([])
    expect(Object.keys(document.paths['/merchants'].post.requestBody.content)).toEqual([
      'application/json',
      'application/x-www-form-urlencoded',
    ])
    const { put } = document.paths['/merchants/{merchantId}']
    expect(Object.keys(put.responses)).toEqual([
      '204',
      '400',
      '401',
      '403',
      '404',
      '409',
      '413',
      '415',
      '429',
      '500',
      '503',
    ])
  })
})
