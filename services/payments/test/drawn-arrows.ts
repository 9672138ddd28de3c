import { readFileSync } from 'node:fs'
import { diagramsOf } from '../../../scripts/layout/state-diagrams.ts'

/** The arrows of each diagram in the README of a noun, from one state to another: `open --> used`, sorted. */
export function drawnFor(noun: string): readonly (readonly string[])[] {
  const text = readFileSync(new URL(`../src/${noun}/README.md`, import.meta.url), 'utf8')
  const isChange = (arrow: string) => new Set(arrow.split(' --> ')).size === 2
  return diagramsOf(text).map(({ arrows }) => [...arrows.keys()].filter(isChange).sort())
}
