import { Badge, Combobox, InputBase, ScrollArea, Text, useCombobox } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { request } from '../api.ts'
import { fold } from '../palette/matches.ts'
import { useUser } from '../session.tsx'
import { texts, useText } from '../text.ts'
import type { ClientView } from '../types.ts'

const words = texts({
  en: { all: 'All merchants', choose: 'Merchant', find: 'Find a merchant', none: 'No merchant found' },
  pt: { all: 'Todos os lojistas', choose: 'Lojista', find: 'Buscar lojista', none: 'Nenhum lojista encontrado' },
})

export function useMerchants() {
  return useQuery({
    queryKey: ['clients'],
    queryFn: async () => (await request<{ data: ClientView[] }>('GET', '/client')).data,
    select: sortByName,
    staleTime: 60_000,
  })
}

/** Merchant 2 comes before Merchant 10. */
export const { compare: compareNames } = new Intl.Collator('pt', { numeric: true })
const sortByName = (clients: ClientView[]) => clients.toSorted((a, b) => compareNames(a.name, b.name))

const shownMax = 50

/** Operator users choose the merchant whose records they see. Merchant users see the name of their merchant. */
export function MerchantSwitch() {
  const t = useText(words)
  const { merchant } = useUser()
  const [params] = useSearchParams()
  const [location, navigate] = useLocation()
  const [search, setSearch] = useState('')
  const clients = useMerchants()
  const combobox = useCombobox({ onDropdownClose: () => setSearch('') })
  if (merchant) {
    return (
      <Badge variant="light" color="gray" tt="none" size="lg" radius="sm" visibleFrom="xs">
        {merchant.name}
      </Badge>
    )
  }
  const all = clients.data ?? []
  const chosen = all.find(({ clientId }) => clientId === params.get('client'))
  const found = all.filter(({ name, clientId }) => fold(`${name} ${clientId}`).includes(fold(search.trim())))
  const go = (clientId: string) => {
    // A record belongs to one merchant, so after a switch the list of the new merchant is shown.
    const path = location.split('/').slice(0, 2).join('/') || '/'
    navigate(clientId === '' ? path : `${path}?${new URLSearchParams({ client: clientId })}`)
    combobox.closeDropdown()
  }
  return (
    <Combobox store={combobox} onOptionSubmit={go} width={300} position="bottom-start">
      <Combobox.Target>
        <InputBase
          component="button"
          type="button"
          pointer
          size="xs"
          w={{ base: 180, sm: 240 }}
          miw={0}
          rightSection={<Combobox.Chevron />}
          rightSectionPointerEvents="none"
          onClick={() => combobox.toggleDropdown()}
          aria-label={`${t.choose}: ${chosen?.name ?? t.all}`}
        >
          <Text size="sm" truncate>
            {chosen?.name ?? t.all}
          </Text>
        </InputBase>
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Search
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          placeholder={t.find}
          aria-label={t.find}
        />
        <Combobox.Options>
          <ScrollArea.Autosize mah={320} type="auto">
            <Combobox.Option value="">{t.all}</Combobox.Option>
            {found.slice(0, shownMax).map(({ clientId, name }) => (
              <Combobox.Option key={clientId} value={clientId} active={clientId === chosen?.clientId}>
                <Text size="sm">{name}</Text>
                <Text size="xs" c="dimmed" className="identifier">
                  {clientId}
                </Text>
              </Combobox.Option>
            ))}
            {found.length === 0 && <Combobox.Empty>{t.none}</Combobox.Empty>}
          </ScrollArea.Autosize>
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  )
}
