import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { presetPersonalFilters } from '../filters.ts'

/** A link to a list with filters. It clears the personal filters that were typed there earlier. */
export function ListLink({ to, children }: { to: string; children: ReactNode }) {
  return (
    <Anchor component={Link} href={to} size="sm" onClick={() => presetPersonalFilters(to)}>
      {children}
    </Anchor>
  )
}
