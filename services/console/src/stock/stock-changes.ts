import type { Changeable } from '../pages/asked-change.ts'
import { hiddenField } from '../pages/form.ts'
import { count } from '../pages/parts.ts'
import { type Location, locationPath, type Reservation } from './stock-view.ts'

/** The changes of a reservation that operators make after a question. */
export const reservationChanges: Changeable<Reservation> = {
  service: 'inventory',
  section: 'stock',
  pathOf: ({ id }) => `/reservations/${id}`,
  shownAt: () => '/reservations',
  changes: [
    {
      name: 'release',
      action: 'reservations.release',
      label: 'Release',
      title: ({ id }) => `Release reservation ${id}`,
      isDangerous: true,
      isOffered: ({ status }) => status === 'active',
      consequences: ({ remaining, reference }) => [
        `${count(remaining)} that ${reference === null ? 'it keeps' : `${reference} keeps`} can be sold to others at once.`,
        'Whoever has made the reservation can no longer commit it.',
        'This cannot be undone.',
      ],
      call: ({ id }) => ({ method: 'DELETE', path: `/reservations/${id}` }),
      done: 'The reservation is released',
    },
  ],
}

/** A location with its version. */
export interface VersionedLocation {
  readonly location: Location
  readonly etag: string
}

/** The changes of a location that operators make after a question. */
export const locationChanges: Changeable<VersionedLocation> = {
  service: 'inventory',
  section: 'stock',
  pathOf: ({ location }) => locationPath(location.id),
  changes: [
    {
      name: 'deletion',
      action: 'locations.change',
      label: 'Delete',
      title: ({ location }) => `Delete ${location.code}`,
      isDangerous: true,
      consequences: () => [
        'The location leaves all lists, and its code becomes free.',
        'A location with stock is not deleted.',
        'This cannot be undone.',
      ],
      fields: ({ etag }) => hiddenField('etag', etag),
      call: ({ location }, { etag }) => ({ method: 'DELETE', path: locationPath(location.id), ifMatch: etag }),
      done: ({ location }) => `${location.code} is deleted`,
      leadsTo: () => '/locations',
    },
  ],
}
