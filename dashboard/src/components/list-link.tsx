import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { presetPersonalFilters } from '../filters.ts'

/** A link to a list with filters. It first clears the filters with personal data that the user typed in that list. */
export function ListLink({ to, children }: { to: string; children: ReactNode }) {
  return (
    <Anchor component={Link} href={to} size="sm" onClick={() => presetPersonalFilters(to)}>
      {children}
    </Anchor>
  )
}
