import { describe, expect, it } from 'vitest'
import { objectNotFound } from '../errors.ts'
import { urlOf } from './service-call.ts'

describe('urlOf', () => {
  it.each([
    ['http://localhost:1', 'http://localhost:1/operator/users/a%2Fb?soft=true'],
    ['http://localhost:1/below', 'http://localhost:1/below/operator/users/a%2Fb?soft=true'],
    ['http://LOCALHOST:80', 'http://LOCALHOST:80/operator/users/a%2Fb?soft=true'],
  ])('names the object of a path at %s', (base, url) => {
    expect(urlOf(base, { path: '/operator/users/a%2Fb', query: { soft: true, none: undefined } })).toBe(url)
  })

  it.each([
    '/operator/users/1/sessions/..',
    '/operator/users/1/sessions/.',
    '/operator/users/%2e',
    '/operator/users/1/sessions/%2E%2e',
    '/operator/users/',
    '/operator/users//ban',
    '/operator/users/1?soft=false',
    '/operator/users/1#top',
    '/operator/users/1\\2',
    '/operator/users/1\t',
  ])('404: refuses the path %j, which leads to another object', (path) => {
    expect(() => urlOf('http://localhost:1', { path })).toThrow(objectNotFound())
  })
})
