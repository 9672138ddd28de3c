import { describe, expect, it } from 'vitest'
import { buildOpenApi } from './openapi.ts'

describe('buildOpenApi', () => {
  it('describes each route with its errors, from the schemas only', async () => {
    const document = JSON.parse(JSON.stringify(await buildOpenApi()))
    expect([document.openapi, document.info.title]).toEqual(['3.1.0', 'Trestle payments'])
    const { type, scheme } = document.components.securitySchemes.key
    expect([type, scheme]).toEqual(['http', 'basic'])
    expect(document.security).toEqual([{ key: [] }, { user: [] }])
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

  it('describes a statement as CSV, and its errors as JSON', async () => {
    const { paths } = JSON.parse(JSON.stringify(await buildOpenApi()))
    const { responses } = paths['/merchants/{merchantId}/statement.csv'].get
    expect(Object.keys(responses[200].content)).toEqual(['text/csv'])
    expect(Object.keys(responses[404].content)).toEqual(['application/json'])
  })

  it('documents 413 and 415 for DELETE too', async () => {
    const { paths } = JSON.parse(JSON.stringify(await buildOpenApi()))
    const removals = Object.values<{ delete?: { responses: object } }>(paths).flatMap((methods) => methods.delete ?? [])
    expect(removals.length).toBeGreaterThan(3)
    for (const { responses } of removals) expect(Object.keys(responses)).toEqual(expect.arrayContaining(['413', '415']))
  })

  it('describes each member of an error of the checkout', async () => {
    const { paths } = JSON.parse(JSON.stringify(await buildOpenApi()))
    const { properties } = paths['/payments'].post.responses[400].content['application/json'].schema
    expect(Object.keys(properties)).toEqual(['code', 'message', 'path', 'scheme', 'supported', 'error'])
  })
})
