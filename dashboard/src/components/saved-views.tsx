import { ActionIcon, Button, Group, Menu, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { request, withQuery } from '../api.ts'
import { presetPersonalFilters } from '../filters.ts'
import { useClientLink } from '../links.ts'
import { texts, useText } from '../text.ts'
import type { SavedView } from '../types.ts'
import { Confirm } from './confirm.tsx'
import { ErrorNotice } from './error-notice.tsx'
import { useMutationForm } from './form.tsx'

const words = texts({
  en: {
    views: 'Views',
    own: 'Your views',
    save: 'Save this view',
    name: 'Name',
    hint: 'Saves the filters of this list under a name, for you, except personal data. To share them, send the address of the page.',
    remove: (name: string) => `Delete the view ${name}`,
  },
  pt: {
    views: 'Visões',
    own: 'Suas visões',
    save: 'Salvar esta visão',
    name: 'Nome',
    hint: 'Salva os filtros desta lista com um nome, só para você, menos dados pessoais. Para compartilhar, envie o endereço da página.',
    remove: (name: string) => `Excluir a visão ${name}`,
  },
})

type Screen = 'transactions' | 'withdrawals' | 'webhooks'

/** Named filters of a list: a few that everybody has, and the user's own. */
export function SavedViews({ screen, builtIn }: { screen: Screen; builtIn: { name: string; query: string }[] }) {
  const t = useText(words)
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const toLink = useClientLink()
  const [isSaving, setSaving] = useState(false)
  const key = ['saved-views', screen]
  const views = useQuery({
    queryKey: key,
    queryFn: async () => (await request<{ data: SavedView[] }>('GET', withQuery('/saved-view', { screen }))).data,
    staleTime: 60_000,
  })
  const removing = useMutation({
    mutationFn: async (id: string) => await request('DELETE', `/saved-view/${id}`),
    onSuccess: async () => await queries.invalidateQueries({ queryKey: key }),
  })
  const open = (query: string) => {
    const parameters = new URLSearchParams(query)
    // A view that was saved with a merchant opens for that merchant, any other view for the chosen one.
    const base = parameters.has('client') ? `/${screen}` : toLink(`/${screen}`)
    const address = [base, query].join(base.includes('?') ? '&' : '?')
    presetPersonalFilters(address)
    navigate(address)
  }
  return (
    <>
      <Menu position="bottom-end" withInitialFocusPlaceholder={false} closeOnItemClick>
        <Menu.Target>
          <Button variant="default">{t.views}</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {builtIn.map(({ name, query }) => (
            <Menu.Item key={name} onClick={() => open(query)}>
              {name}
            </Menu.Item>
          ))}
          {(views.data?.length ?? 0) > 0 && <Menu.Label>{t.own}</Menu.Label>}
          {views.data?.map(({ id, name, query }) => (
            <Group key={id} gap={0} wrap="nowrap">
              <Menu.Item onClick={() => open(query)}>{name}</Menu.Item>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={t.remove(name)}
                onClick={() => removing.mutate(id)}
                mr={4}
              >
                ×
              </ActionIcon>
            </Group>
          ))}
          <Menu.Divider />
          <Menu.Item onClick={() => setSaving(true)}>{t.save}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {removing.isError && <ErrorNotice error={removing.error} />}
      {isSaving && <SaveView screen={screen} onClose={() => setSaving(false)} />}
    </>
  )
}

function SaveView({ screen, onClose }: { screen: Screen; onClose: () => void }) {
  const t = useText(words)
  const queries = useQueryClient()
  const [parameters] = useSearchParams()
  const saving = useMutationForm({
    initialValues: { name: '' },
    send: async ({ name }) => {
      const query = new URLSearchParams(parameters)
      for (const place of ['after', 'before', 'page']) query.delete(place)
      await request('POST', '/saved-view', { screen, name: name.trim(), query: query.toString() })
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['saved-views', screen] })
      onClose()
    },
  })
  return (
    <Confirm
      title={t.save}
      isOpen
      onClose={onClose}
      confirm={t.save}
      action={saving}
      isReady={saving.values.name.trim() !== ''}
    >
      <TextInput {...saving.input('name')} label={t.name} description={t.hint} maxLength={60} required data-autofocus />
    </Confirm>
  )
}
