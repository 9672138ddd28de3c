import { expect, it } from 'vitest'
import * as endpoints from './endpoints.ts'

it('exports only documented names', () => {
  expect(Object.keys(endpoints).sort()).toEqual([
    'AccessDenied',
    'Application',
    'CallError',
    'CallStop',
    'Conflict',
    'Controller',
    'Forbidden',
    'MethodNotAllowed',
    'NotFound',
    'NotImplemented',
    'RawJson',
    'Redirect',
    'TooManyRequests',
    'ValidationError',
    'accepts',
    'authBasic',
    'authBearer',
    'docsController',
    'fastifyOptions',
    'httpCache',
    'memoryStore',
    'noHttpCache',
    'p',
    'rateLimit',
    'requireScopes',
  ])
})
