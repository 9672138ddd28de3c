import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { functionsIn, placeOf, withNames } from './functions.ts'

const root = await mkdtemp(join(tmpdir(), 'functions-'))
afterAll(() => rm(root, { recursive: true }))

async function folderOf(files: Readonly<Record<string, string>>): Promise<URL> {
  const folder = await mkdtemp(join(root, 'folder-'))
  await mkdir(join(folder, 'fragments'))
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text)
  return pathToFileURL(`${folder}/`)
}

describe('functionsIn', () => {
  it('reads the files of a folder by name, with the fragments that they include', async () => {
    const folder = await folderOf({
      'second.sql': 'SELECT 2;\n',
      'first.sql': 'BEGIN\n{{include:answer.sql}}\nEND;\n',
      'fragments/answer.sql': 'SELECT {{include:value.sql}};\n',
      'fragments/value.sql': '1\n',
      'README.md': 'not a function',
    })
    const first = 'BEGIN\nSELECT 1;\nEND;\n'
    expect(await functionsIn(folder)()).toEqual([
      { name: 'first', text: first, hash: createHash('sha256').update(first).digest('hex') },
      { name: 'second', text: 'SELECT 2;\n', hash: createHash('sha256').update('SELECT 2;\n').digest('hex') },
    ])
  })

  it('reads the files once', async () => {
    const folder = await folderOf({ 'first.sql': 'SELECT 1;\n' })
    const files = functionsIn(folder)
    const before = await files()
    await rm(folder, { recursive: true })
    expect(await files()).toEqual(before)
  })

  it('fails for a fragment that is not there', async () => {
    const folder = await folderOf({ 'first.sql': '{{include:gone.sql}}' })
    await expect(functionsIn(folder)()).rejects.toThrow(/gone\.sql/)
  })
})

describe('placeOf', () => {
  it.each(['p_merchant_id', 'everywhere', 'coordinator'])('reads %s from the first line', (place) => {
    expect(placeOf({ name: 'first', text: `-- distribute: ${place}\n-- Says more.\nCREATE` })).toBe(place)
  })

  it.each(['', '-- distribute: merchant_id\n', '-- distribute: nowhere\n', 'x\n-- distribute: everywhere\n'])(
    'refuses a file that begins with %j',
    (text) => {
      expect(() => placeOf({ name: 'first', text })).toThrow('first.sql does not begin with "-- distribute: p_…"')
    },
  )
})

describe('withNames', () => {
  const text = `{{users}} {{local:users_email_key}} '{{prefix}}' '{{{1}}}'`

  it.each([
    ['', `"auth"."users" "users_email_key" '' '{{{1}}}'`],
    ['app_', `"auth"."app_users" "app_users_email_key" 'app_' '{{{1}}}'`],
  ])('writes names with the prefix "%s"', (prefix, expected) => {
    expect(withNames(text, { schema: 'auth', prefix })).toBe(expected)
  })
})
