import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { buildDocument, documentedServices, documentFile } from './write-openapi.ts'

it.each(documentedServices)(
  'the API document that %s sends to clients is that of its routes',
  async (service) => {
    const sent = JSON.parse(readFileSync(documentFile(service), 'utf8'))
    expect(await buildDocument(service), 'run: pnpm openapi').toEqual(sent)
  },
  60_000,
)
