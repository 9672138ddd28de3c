import { expect, it } from 'vitest'
import { pinnedImages } from './pinned-images.ts'
import { problemsOf } from './shop-tree.ts'

const compose = (image: string) => `services:\n  shop:\n    image: ${image}\n`

it.each(['postgres:18-bookworm', 'prom/prometheus:v3.5.0', 'trestle-shop'])('accepts %s', async (image) => {
  expect(await problemsOf(pinnedImages, { 'docker-compose.yml': compose(image) })).toEqual([])
})

it.each(['grafana/grafana', 'grafana/grafana:latest', 'localhost:5000/shop'])('refuses %s', async (image) => {
  expect(await problemsOf(pinnedImages, { 'docker-compose.yml': compose(image) })).toEqual([
    `docker-compose.yml:3 names the image ${image} without a version`,
  ])
})
