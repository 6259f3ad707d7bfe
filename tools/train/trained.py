"""What the training models share: weights in one flat dictionary under the released names, experts stacked, load balance.

The experts of a layer are two tensors, `….experts.FIRST` [E, 2I, in], gate rows first, and `….experts.SECOND` [E, out, I]; FIRST
is called "w13" or "gate_up_proj", after what `expert_parts` (gate, up, down) are called in the files. One thread of Python;
a forward pass notes the router's load in `load`.
"""

import torch


class TrainedModel(torch.nn.Module):
    """A family gives names() {name: shape}, initial_value(), layer_name(), decays(), expert_parts and router_bias."""

    router_bias = None  # name inside a layer, where balance comes from a bias and not from a loss

    def __init__(self, config, seed=0):
        super().__init__()
        self.config = config
        self.load = {}  # layer -> how many tokens each expert got in the last forward pass [E]
        self.rounded = True  # matrices compute with the values that will be stored
        self.values = {}
        generator = torch.Generator().manual_seed(seed)
        for name, shape in self.names().items():
            value = self.initial_value(name, shape, generator)
            self.values[name] = torch.nn.Parameter(value, requires_grad=value.is_floating_point() and not self.is_router_bias(name))
            self.register_parameter(name.replace(".", "/"), self.values[name])

    def stacked_names(self, groups, blocks, prefix, parts):
        """Of names(): all tensors of the files' `groups` but single experts, which make two stacks `parts` in each of `blocks`.

        Leaves what each tensor is in the files in `kinds`.
        """
        self.kinds = {name: kind for group in groups for name, (kind, _) in group.items()}
        shapes = {name: shape for group in groups for name, (_, shape) in group.items() if ".experts." not in name}
        experts, width, inner = (self.config[key] for key in ("n_routed_experts", "hidden_size", "moe_intermediate_size"))
        for block in blocks:
            for part, shape in zip(parts, ((experts, 2 * inner, width), (experts, width, inner)), strict=True):
                shapes[self.layer_name(block, prefix + part)] = shape
        return shapes

    def is_router_bias(self, name):
        """Moved by balance(), not by gradients."""
        return self.router_bias is not None and name.endswith(self.router_bias)

    def w(self, layer, name):
        return self.values[self.layer_name(layer, name)]

    def rms_norm(self, x, weight, eps=None):
        eps = self.config.get("rms_norm_eps", 1e-5) if eps is None else eps
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight

    # ---- exchange with float names --------------------------------------------------------------------------------

    def stacks(self):
        """(ending of the stacked name, parts in it) of the two stacks."""
        gate, up, down = self.expert_parts
        first = "w13" if gate == "w1" else "gate_up_proj"
        return ("experts." + first, (gate, up)), ("experts." + down, (down,))

    def stack_of(self, name):
        return next((stack for stack in self.stacks() if name.endswith(stack[0])), None)

    @torch.no_grad()
    def float_tensors(self):
        """`{released float name: numpy array}`, experts one tensor each."""
        tensors = {}
        for name, value in self.values.items():
            stack, value = self.stack_of(name), value.detach()
            if stack is None:
                tensors[name] = value.numpy()
                continue
            prefix = name[:-len(stack[0])] + "experts."
            for expert, matrix in enumerate(value):
                for part, rows in zip(stack[1], matrix.chunk(len(stack[1]))):
                    tensors[f"{prefix}{expert}.{part}.weight"] = rows.numpy()
        return tensors

    @torch.no_grad()
    def set_float_tensors(self, tensors):
        for name, value in self.values.items():
            stack = self.stack_of(name)
            if stack is None:
                value.copy_(torch.as_tensor(tensors[name]).reshape(value.shape))
                continue
            prefix = name[:-len(stack[0])] + "experts."
            value.copy_(torch.stack([torch.cat([torch.as_tensor(tensors[f"{prefix}{expert}.{part}.weight"])
                                                for part in stack[1]]) for expert in range(len(value))]))

    # ---- training -------------------------------------------------------------------------------------------------

    def losses(self, rows):
        """{name: (loss, weight)} of rows of ids [B, T + 1]; the first is that of the next token."""
        logits = self(rows[:, :-1])
        return {"loss": (torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()), 1.0)}

    def note_load(self, layer, ids, experts):
        self.load[layer] = torch.bincount(ids.flatten(), minlength=experts)

    @torch.no_grad()
    def balance(self, rate):
        """Moves each router bias towards an even load (auxiliary-loss-free balancing): up if idle, down if busy."""
        if self.router_bias is None:
            return
        for layer, load in self.load.items():
            bias = self.w(layer, self.router_bias)
            even = load.sum() / load.numel()
            bias += rate * torch.sign(even - load)
            bias -= bias.mean()
