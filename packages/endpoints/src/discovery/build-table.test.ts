import { describe, expect, it } from 'vitest'
import { anonymous, Foo, start } from '../../test/start.ts'
import { Controller } from '../endpoints.ts'

describe('clashes', () => {
  class Suffixed extends Controller {
    GET_foo() {}
    GET_bar() {}
    GET_inner() {}
  }
  const modules = {
    index: { Default: Object.assign(Suffixed, { Inner: anonymous() }), Foo, Baz: anonymous() },
    baz: {},
    bar: { Default: anonymous() },
  }

  it('submodule wins over class, class over suffix, each with a warning', async () => {
    expect(await start({ modules })).toEqual({
      urls: ['/bar', '/foo', '/inner'],
      warnings: [
        '/baz: the module hides the class',
        '/foo: the class hides the suffix of a method of Default',
        '/bar: the module hides the suffix of a method of Default',
        '/inner: the class hides the suffix of a method of Default',
      ],
    })
  })

  it('stop the start with strict', async () => {
    await expect(start({ modules, strict: true })).rejects.toThrow('/baz: the module hides the class')
  })
})
