import { describe, expect, it } from 'vitest'
import { anonymous, Foo, start } from '../../test/start.ts'

describe('module maps', () => {
  it('accept modules and functions that load them, with or without ./ and extension', async () => {
    const modules = {
      './index.ts': { Default: anonymous() },
      'foo/bar.js': async () => ({ Foo }),
      fooBar: { default: anonymous() },
    }
    expect(await start({ modules })).toEqual({ urls: ['/', '/foo-bar', '/foo/bar/foo'], warnings: [] })
  })

  it.each([
    ['two of one URL', { foo: {}, './foo.ts': {} }, 'are both /foo'],
    ['a name that no URL should have', { '../foo': {} }, 'a name may hold'],
    ['one that cannot be loaded', { foo: () => Promise.reject(new Error('gone')) }, 'foo cannot be imported: gone'],
  ])('start fails for %s', async (_name, modules, message) => {
    await expect(start({ modules })).rejects.toThrow(message)
  })
})
